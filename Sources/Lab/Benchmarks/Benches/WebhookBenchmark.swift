import Postgres
import TemporaryPostgres

/// Measures how fast one worker delivers webhooks to receivers in this process, alone and beside a dead endpoint that is far behind.
package struct WebhookBenchmark: Sendable {
    /// Entries that are delivered to each endpoint.
    package var entries = 20_000
    package var endpoints = 4
    /// Entries that the dead endpoint has not got.
    package var behind = 1_000_000
    /// Entries a second while the time to their arrival is measured, to one endpoint.
    package var rate = 500
    package var seconds = 20
    package var rounds = 3

    package init() {}

    private static let database = "webhooks"
    private static let dead = "dead"

    private enum Neighbour: CaseIterable {
        case none, dead

        func statement(_ name: String) -> Statement {
            switch self {
            case .none: "SELECT appstore.pause_endpoint(e.name) FROM appstore.endpoints AS e WHERE e.name = \(name) AND e.state = 'enabled'"
            case .dead: "SELECT appstore.resume_endpoint(e.name) FROM appstore.endpoints AS e WHERE e.name = \(name) AND e.state = 'paused'"
            }
        }
    }

    private struct Round {
        var runs: [Neighbour: WebhookRun] = [:]
    }

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            let store = try BenchmarkStore()
            try await cluster.makeDatabase(Self.database, program: environment.program)
            var settings = try store.workerSettings(database: Self.database, of: cluster)
            settings["WEBHOOK_SECRET"] = "a secret of more than thirty-two bytes for benchmarks"
            environment.progress("numbering \(behind) entries for an endpoint that is dead")
            let port = try FreePort.find()
            try await cluster.withConnection(to: Self.database) { connection in
                _ = try await connection.execute("SELECT appstore.enable_feed()")
                _ = try await connection.execute("SELECT appstore.make_endpoint(\(Self.dead), \("http://127.0.0.1:\(port)/"))")
                try await WebhookRun.tell(behind, on: connection)
            }
            try await cluster.vacuum(Self.database, table: "appstore.feed")
            var measured: [Round] = []
            for number in 0..<rounds {
                var round = Round()
                for index in Rounds.order(of: Neighbour.allCases.count, in: number) {
                    try Task.checkCancellation()
                    let neighbour = Neighbour.allCases[index]
                    try await cluster.withConnection(to: Self.database) { connection in
                        _ = try await connection.execute(neighbour.statement(Self.dead))
                    }
                    let run = try await WebhookRun.measure(self, in: Self.database, of: cluster, environment.program, settings)
                    round.runs[neighbour] = run
                    let p99 = run.arrivals.percentile(99).figureText
                    environment.progress(
                        "round \(number + 1) of \(rounds), neighbour \(neighbour): \(run.rate.figureText) deliveries/s, p99 \(p99) ms"
                    )
                }
                measured.append(round)
            }
            return report(measured, machine: machine)
        }
    }

    private func report(_ measured: [Round], machine: Machine) -> BenchmarkReport {
        func figures(_ neighbour: Neighbour, _ figure: (WebhookRun) -> Double) -> [Double] {
            measured.compactMap { $0.runs[neighbour] }.map(figure)
        }
        func time(_ part: (WebhookRun) -> Duration) -> Duration { .seconds(Samples(figures(.none) { part($0).seconds }).median) }
        let arrival = "from commit to arrival at \(rate) entries a second"
        var report = BenchmarkReport(
            name: "webhooks",
            summary:
                "One worker process delivers \(entries) entries to each of \(endpoints) endpoints, which are this process; then \(rate) entries "
                + "a second to one of them. In half of the measurements another endpoint, behind which \(behind) entries wait, refuses "
                + "all connections.",
            comparisons: [
                Comparison("deliveries", unit: "deliveries/s", rounds: figures(.none, \.rate)),
                Comparison(
                    "deliveries beside the dead endpoint",
                    unit: "deliveries/s",
                    rounds: figures(.dead, \.rate),
                    yardstick: Comparison.Yardstick("without it", rounds: figures(.none, \.rate)),
                    aim: .ratio(0.95)
                ),
                Comparison("p50 \(arrival)", unit: "ms", rounds: figures(.none, \.arrivals.median)),
                Comparison("p99 \(arrival)", unit: "ms", rounds: figures(.none) { $0.arrivals.percentile(99) }, aim: .below(100)),
                Comparison("p99 beside the dead endpoint", unit: "ms", rounds: figures(.dead) { $0.arrivals.percentile(99) }),
            ],
            machine: machine
        )
        let deliveries = entries * endpoints
        report.costs = [
            ProcessorCost("worker", time(\.workerTime), per: deliveries, source: "its process time"),
            ProcessorCost("PostgreSQL", time(\.postgresTime), per: deliveries, source: "process time of all its processes"),
            ProcessorCost("receiver", time(\.receiverTime), per: deliveries, source: "process time of this process"),
        ]
        return report
    }
}
