import OpenSSL
import StoreSimulator
import Testing

@testable import Benchmarks

struct VerificationCostTests {
    @Test func `what verifying takes is measured when the key's table is made`() async throws {
        let store = try BenchmarkStore()
        let key = try #require(store.authority.leaf.publicKey)
        let bodies = try await store.bodies(of: try VerifyBenchmark.renewals(3))
        #expect(!key.isAtItsFastest)
        let cost = try VerificationCost(of: bodies, store: store)
        #expect(key.isAtItsFastest)
        #expect(cost.signatures > .zero)
        #expect(cost.decoding > .zero)
    }

    @Test func `nothing is measured of another program`() throws {
        let other = BenchmarkEnvironment(program: "/nonexistent", isThisProgram: false, progress: { _ in })
        #expect(try VerificationCost(of: [], store: try BenchmarkStore(), in: other) == nil)
    }
}
