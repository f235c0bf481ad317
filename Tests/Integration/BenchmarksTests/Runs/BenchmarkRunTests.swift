import Benchmarks
import Foundation
import TemporaryPostgres
import Testing

/// Runs each benchmark once, as small as possible, against the built program and a real cluster. Serialized, since each starts a cluster.
@Suite(.serialized, .timeLimit(.minutes(3))) struct BenchmarkRunTests {
    private func environment() throws -> BenchmarkEnvironment {
        BenchmarkEnvironment(program: try BuiltProduct.path(of: "appstore-inbox"), progress: { _ in })
    }

    /// Checks that a report has positive figures for each comparison, the given costs, and JSON.
    private func check(_ report: BenchmarkReport, comparisons: Int, costs: [String]) throws {
        #expect(report.comparisons.count == comparisons)
        for comparison in report.comparisons {
            #expect(!comparison.rounds.isEmpty && comparison.rounds.allSatisfy { $0 > 0 }, "\(comparison)")
            if let yardstick = comparison.yardstick {
                #expect(yardstick.rounds.count == comparison.rounds.count && yardstick.rounds.allSatisfy { $0 > 0 }, "\(comparison)")
                #expect(comparison.ratio != nil)
            }
        }
        #expect(report.costs.map(\.part) == costs)
        #expect(try report.json.contains("\"bench\":\"\(report.name)\""))
    }

    @Test(.enabled(if: PostgresPrograms.isInstalled("openssl"), "openssl is not installed"))
    func `verify measures one core`() async throws {
        var benchmark = VerifyBenchmark()
        (benchmark.events, benchmark.rounds, benchmark.seconds) = (5, 1, 1)
        let report = try await benchmark.run(in: try environment())
        try check(report, comparisons: 1, costs: ["ECDSA and hashing", "decoding"])
        let size = try #require(report.details.first { $0.name == "bytes per event" })
        #expect((18_000...20_000).contains(size.value), "a renewal of Apple's has 18 to 19 kB")
    }

    @Test(.enabled(if: PostgresPrograms.isInstalled("openssl"), "openssl is not installed"))
    func `drain settles notifications of many types, each with an outcome`() async throws {
        var benchmark = DrainBenchmark()
        (benchmark.events, benchmark.rounds, benchmark.yardstickSeconds) = (120, 1, 1)
        let report = try await benchmark.run(in: try environment())
        try check(report, comparisons: 1, costs: ["ECDSA and hashing", "decoding", "other Swift", "PostgreSQL"])
        #expect(report.mix.values.reduce(0, +) == 120)
        #expect(report.mix.count > 5)
        let outcomes = report.details.filter { $0.name.hasPrefix("outcomes ") }
        #expect(outcomes.reduce(0) { $0 + $1.value } == 120)
        #expect(try #require(outcomes.first { $0.name == "outcomes applied" }).value > 60)
    }

    @Test(.enabled(if: PostgresPrograms.isInstalled("pgbench"), "pgbench is not installed"))
    func `the queue alone is measured with and without a snapshot`() async throws {
        var benchmark = QueueBenchmark()
        (benchmark.events, benchmark.rounds, benchmark.waiting, benchmark.settled) = (300, 1, 50, 100)
        (benchmark.yardstickSeconds, benchmark.hold) = (1, 1)
        let report = try await benchmark.run(in: try environment())
        try check(report, comparisons: 4, costs: ["Swift", "PostgreSQL"])
        let comparison = report.comparisons[3]
        #expect(comparison.label == "queue after 1 s under one snapshot")
        #expect(comparison.yardstick?.rounds.count == comparison.rounds.count, "both are measured in each round")
    }

    @Test(.enabled(if: PostgresPrograms.isInstalled("pgbench"), "pgbench is not installed"))
    func `ingest is measured at full and half load`() async throws {
        var benchmark = IngestBenchmark()
        (benchmark.rounds, benchmark.seconds, benchmark.connections, benchmark.sizes) = (1, 1, 4, [1000])
        let report = try await benchmark.run(in: try environment())
        try check(report, comparisons: 3, costs: ["ingest", "PostgreSQL", "load generator"])
    }

    @Test func `latency is measured from POST to outcome`() async throws {
        var benchmark = LatencyBenchmark()
        (benchmark.rounds, benchmark.rate, benchmark.seconds) = (1, 40, 1)
        let report = try await benchmark.run(in: try environment())
        try check(
            report,
            comparisons: 4,
            costs: ["ECDSA and hashing", "decoding", "other Swift", "PostgreSQL", "ingest", "load generator"]
        )
        let seen = report.comparisons[0].figure
        let recorded = report.comparisons[2].figure
        #expect(seen > recorded, "a POST is sent before it is received, and an outcome is recorded before it is visible")
    }

    @Test func `memory is measured under load and with a backlog`() async throws {
        var benchmark = MemoryBenchmark()
        (benchmark.events, benchmark.tinyEvents, benchmark.seconds, benchmark.connections) = (50, 200, 1, 4)
        let report = try await benchmark.run(in: try environment())
        try check(report, comparisons: 2, costs: ["ingest", "PostgreSQL", "load generator"])
        #expect(report.comparisons.allSatisfy { (5...500).contains($0.figure) }, "megabytes")
    }

    @Test func `flat compares with an empty database`() async throws {
        var benchmark = FlatBenchmark()
        (benchmark.events, benchmark.rounds, benchmark.settled) = (60, 1, [500])
        let report = try await benchmark.run(in: try environment())
        try check(report, comparisons: 2, costs: ["ECDSA and hashing", "decoding", "other Swift", "PostgreSQL"])
        #expect(report.comparisons[1].label == "drain with 500 settled")
    }

    @Test func `webhooks are measured alone and beside a dead endpoint`() async throws {
        var benchmark = WebhookBenchmark()
        (benchmark.entries, benchmark.endpoints, benchmark.behind, benchmark.rounds) = (50, 2, 300, 2)
        (benchmark.rate, benchmark.seconds) = (50, 1)
        let report = try await benchmark.run(in: try environment())
        #expect(report.comparisons.count == 5 && report.comparisons.allSatisfy { $0.rounds.count == 2 && $0.figure > 0 })
    }

    @Test func `the feed is measured off, on and numbered later, and deliveries in two shapes`() async throws {
        var benchmark = FeedBenchmark()
        (benchmark.events, benchmark.rounds, benchmark.entries, benchmark.endpoints) = (120, 1, 150, 2)
        let report = try await benchmark.run(in: try environment())
        try check(report, comparisons: 3, costs: ["PostgreSQL while it numbers"])
        func detail(_ name: String) throws -> Double { try #require(report.details.first { $0.name == name }).value }
        #expect(try detail("changes") > 1, "a change of a contract, and most events have an effect")
        #expect(try detail("entries") > 0.5)
        #expect(try detail("log, cursor") < detail("log, rows"))
    }
}
