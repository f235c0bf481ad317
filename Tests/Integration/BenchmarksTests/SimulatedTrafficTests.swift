import AppStore
import Testing

@testable import Benchmarks

struct SimulatedTrafficTests {
    /// All except REVOKE: the simulated customers have no family members.
    @Test func `thousands of notifications include every documented type`() async throws {
        var traffic = SimulatedTraffic(seed: 1)
        let types = Set(try await traffic.next(20_000).map { String($0.kindText.prefix { $0 != "/" }) })
        #expect(Set(NotificationMatrix.subtypes.keys.map(\.rawValue)).subtracting(types) == ["REVOKE"])
    }
}
