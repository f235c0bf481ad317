import OpenSSL
import TemporaryPostgres

/// Measures the time from a POST until another session sees the outcome.
package struct LatencyBenchmark: Sendable {
    package var rounds = 3
    /// Events a second.
    package var rate = 500
    /// The length of each round.
    package var seconds = 20
    package var seed: UInt64 = 1

    package init() {}

    private static let database = "inbox"
    private static let connections = 64

    /// Processor time of a round.
    private struct Costs {
        var ingest: Duration
        var worker: Duration
        var postgres: Duration
        /// Of this process, which sends and polls.
        var client: Duration

        static func measure<T: Sendable>(
            of ingest: Daemon,
            _ worker: Daemon,
            _ cluster: BenchmarkCluster,
            _ body: () async throws -> T
        ) async throws -> (T, Costs) {
            func now() throws -> Costs {
                Costs(
                    ingest: try ingest.processorTime(),
                    worker: try worker.processorTime(),
                    postgres: try cluster.processorTime(),
                    client: ProcessClock.now()
                )
            }
            let before = try now()
            let value = try await body()
            let after = try now()
            let costs = Costs(
                ingest: after.ingest - before.ingest,
                worker: after.worker - before.worker,
                postgres: after.postgres - before.postgres,
                client: after.client - before.client
            )
            return (value, costs)
        }
    }

    /// Times in milliseconds.
    private struct Round {
        /// From when the POST was due to when another session saw its outcome.
        let visible: Samples
        /// `settled_at - received_at` of the rows.
        let recorded: Samples
        let costs: Costs
    }

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            let store = try BenchmarkStore()
            try await cluster.makeDatabase(Self.database, program: environment.program)
            var traffic = SimulatedTraffic(seed: seed)
            var sample: [[UInt8]] = []
            var measured: [Round] = []
            let settings = try store.workerSettings(database: Self.database, of: cluster)
            for round in 0..<rounds {
                let bodies = try await store.bodies(of: try await traffic.next(rate * seconds))
                sample = Array(bodies.prefix(Backlog.sampleSize))
                measured.append(try await measure(bodies, cluster: cluster, program: environment.program, settings: settings))
                let (p50, p99) = (measured[round].visible.median.figureText, measured[round].visible.percentile(99).figureText)
                environment.progress("round \(round + 1) of \(rounds): p50 \(p50) ms, p99 \(p99) ms")
            }
            return report(measured, cost: try VerificationCost(of: sample, store: store, in: environment), machine: machine)
        }
    }

    private func measure(
        _ bodies: [[UInt8]],
        cluster: BenchmarkCluster,
        program: String,
        settings: [String: String]
    ) async throws -> Round {
        try await cluster.checkpoint()
        let port = try FreePort.find()
        let ingestURL = cluster.url(Self.database, user: "appstore_ingest")
        let poller = OutcomePoller(cluster: cluster, database: Self.database)
        let first = try await poller.latestEvent()
        let pace = HTTPLoad.Pace.steady(perSecond: Double(rate), count: bodies.count)
        let load = HTTPLoad(port: port, connections: Self.connections, bodies: bodies, pace: pace)
        let (run, costs) = try await Daemon.withIngest(program: program, databaseURL: ingestURL, port: port) { ingest in
            try await Daemon.withWorker(program: program, settings: settings) { worker in
                try await Costs.measure(of: ingest, worker, cluster) {
                    async let seen = poller.awaitOutcomes(bodies.count, after: first, within: .seconds(seconds + 60)) { try worker.check() }
                    return (sent: try await load.run(), seenTimes: try await seen)
                }
            }
        }
        let rows = try await poller.rows(after: first)
        let due = Dictionary(zip(bodies.map { Digest.sha256($0) }, run.sent.dueTimes)) { first, _ in first }
        let visible = rows.compactMap { row in
            due[row.bodyHash].flatMap { due in run.seenTimes[row.eventID].map { ($0 - due) * 1000 } }
        }
        guard visible.count == bodies.count else {
            throw BenchmarkError(.wrongResult, "\(bodies.count) events were posted, and \(visible.count) were seen settled")
        }
        return Round(visible: Samples(visible), recorded: Samples(rows.map(\.milliseconds)), costs: costs)
    }

    private func report(_ measured: [Round], cost: VerificationCost?, machine: Machine) -> BenchmarkReport {
        var report = BenchmarkReport(
            name: "latency",
            summary: "\(rate) notifications a second of all types are posted to ingest, at even intervals, while one worker runs. The time "
                + "is from when a POST was due until another session of PostgreSQL saw its outcome; that session polls every two milliseconds.",
            comparisons: [
                Comparison("p50, POST to outcome", unit: "ms", rounds: measured.map(\.visible.median), aim: .below(10)),
                Comparison("p99, POST to outcome", unit: "ms", rounds: measured.map { $0.visible.percentile(99) }, aim: .below(40)),
                Comparison("p50, received_at to settled_at", unit: "ms", rounds: measured.map(\.recorded.median)),
                Comparison("p99, received_at to settled_at", unit: "ms", rounds: measured.map { $0.recorded.percentile(99) }),
            ],
            machine: machine
        )
        let events = rate * seconds
        func median(_ part: KeyPath<Costs, Duration>) -> Duration {
            .seconds(Samples(measured.map { $0.costs[keyPath: part].seconds }).median)
        }
        report.costs = DrainRun.costs(worker: median(\.worker), postgres: median(\.postgres), events: events, verification: cost)
        report.costs.append(ProcessorCost("ingest", median(\.ingest), per: events, source: "its process time"))
        report.costs.append(
            ProcessorCost("load generator", median(\.client), per: events, source: "process time of this process, polling included")
        )
        return report
    }
}
