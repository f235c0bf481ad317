import AppStore
import Testing

@testable import Benchmarks

struct SimulatedTrafficTests {
    /// But for REVOKE, which no simulated life brings: its customers share nothing with a family.
    @Test func `among some thousand notifications is every documented type`() async throws {
        var traffic = SimulatedTraffic(seed: 1)
        let types = Set(try await traffic.next(20_000).map { String($0.kindText.prefix { $0 != "/" }) })
        #expect(Set(NotificationMatrix.subtypes.keys.map(\.rawValue)).subtracting(types) == ["REVOKE"])
    }
}
