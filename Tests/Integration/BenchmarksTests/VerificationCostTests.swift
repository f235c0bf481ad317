import OpenSSL
import StoreSimulator
import Testing

@testable import Benchmarks

struct VerificationCostTests {
    @Test func `the cost of verification is measured with the key's table built`() async throws {
        let store = try BenchmarkStore()
        let key = try #require(store.authority.leaf.publicKey)
        let bodies = try await store.bodies(of: try VerifyBenchmark.renewals(3))
        #expect(!key.isAtItsFastest)
        let cost = try VerificationCost(of: bodies, store: store)
        #expect(key.isAtItsFastest)
        #expect(cost.signatures > .zero)
        #expect(cost.decoding > .zero)
    }

    @Test func `the cost of verification is not measured for another build`() throws {
        let other = BenchmarkEnvironment(program: "/nonexistent", isSameBuild: false, progress: { _ in })
        #expect(try VerificationCost(of: [], store: try BenchmarkStore(), in: other) == nil)
    }
}
