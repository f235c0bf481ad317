import OpenSSL
import Postgres
import PrivateCluster

/// How long it takes from a POST to its outcome, seen by somebody else.
package struct LatencyBenchmark: Sendable {
    package var rounds = 3
    /// Events a second.
    package var rate = 500
    /// How long each round is.
    package var seconds = 20
    package var seed: UInt64 = 1

    package init() {}

    private static let database = "inbox"
    private static let connections = 64

    /// Times in milliseconds.
    private struct Round {
        /// From when the POST was due to when another session saw its outcome.
        let visible: Samples
        /// `settled_at - received_at` of the rows.
        let recorded: Samples
        let ingestTime: Duration
        let workerTime: Duration
        let postgresTime: Duration
        /// Of this process, which sends and watches.
        let clientTime: Duration
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
        let watch = OutcomeWatch(cluster: cluster, database: Self.database)
        let first = try await watch.latestEvent()
        let pace = HTTPLoad.Pace.steady(perSecond: Double(rate), count: bodies.count)
        let load = HTTPLoad(port: port, connections: Self.connections, bodies: bodies, pace: pace)
        let (sent, seenTimes, times) = try await Daemon.withIngest(program: program, databaseURL: ingestURL, port: port) { ingest in
            try await Daemon.withWorker(program: program, settings: settings) { worker in
                let before = (try ingest.processorTime(), try worker.processorTime(), try cluster.processorTime())
                let clock = ProcessClock.now()
                async let seen = watch.awaitOutcomes(bodies.count, after: first, within: .seconds(seconds + 60)) { try worker.check() }
                let sent = try await load.run()
                let seenTimes = try await seen
                let after = (try ingest.processorTime(), try worker.processorTime(), try cluster.processorTime())
                let client = ProcessClock.now() - clock
                let times = (ingest: after.0 - before.0, worker: after.1 - before.1, postgres: after.2 - before.2, client: client)
                return (sent, seenTimes, times)
            }
        }
        let rows = try await watch.rows(after: first)
        let due = Dictionary(zip(bodies.map { Digest.sha256($0) }, sent.dueTimes)) { first, _ in first }
        let visible = rows.compactMap { row in
            due[row.bodyHash].flatMap { due in seenTimes[row.eventID].map { ($0 - due) * 1000 } }
        }
        guard visible.count == bodies.count else {
            throw BenchmarkError(.wrongResult, "\(bodies.count) events were posted, and \(visible.count) were seen settled")
        }
        return Round(
            visible: Samples(visible),
            recorded: Samples(rows.map(\.milliseconds)),
            ingestTime: times.ingest,
            workerTime: times.worker,
            postgresTime: times.postgres,
            clientTime: times.client
        )
    }

    private func report(_ measured: [Round], cost: VerificationCost?, machine: Machine) -> BenchmarkReport {
        var report = BenchmarkReport(
            name: "latency",
            summary: "\(rate) notifications a second of all types are posted to ingest, at even intervals, while one worker runs. The time "
                + "is from when a POST was due until another session of PostgreSQL saw its outcome; that one looks every two milliseconds.",
            comparisons: [
                Comparison("p50, POST to outcome", unit: "ms", rounds: measured.map(\.visible.median), aim: .below(20)),
                Comparison("p99, POST to outcome", unit: "ms", rounds: measured.map { $0.visible.percentile(99) }, aim: .below(100)),
                Comparison("p50, received_at to settled_at", unit: "ms", rounds: measured.map(\.recorded.median)),
                Comparison("p99, received_at to settled_at", unit: "ms", rounds: measured.map { $0.recorded.percentile(99) }),
            ],
            machine: machine
        )
        let events = rate * seconds
        func median(_ time: KeyPath<Round, Duration>) -> Duration { .seconds(Samples(measured.map { $0[keyPath: time].seconds }).median) }
        report.costs = DrainRun.costs(worker: median(\.workerTime), postgres: median(\.postgresTime), events: events, verification: cost)
        report.costs.append(ProcessorCost("ingest", median(\.ingestTime), per: events, source: "its process time"))
        report.costs.append(
            ProcessorCost("load generator", median(\.clientTime), per: events, source: "process time of this process, which watches, too")
        )
        return report
    }
}
