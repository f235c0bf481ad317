import Postgres

/// Measures what the feed costs a worker, how fast changes get their positions, and what keeping deliveries costs.
package struct FeedBenchmark: Sendable {
    /// Simulated notifications in the backlog.
    package var events = 40_000
    package var rounds = 3
    /// Entries that are delivered to each endpoint; at most as many as the backlog yields.
    package var entries = 20_000
    package var endpoints = 4
    package var seed: UInt64 = 1

    package init() {}

    private static let template = "backlog"
    private static let database = "drained"

    /// What was measured in a round.
    private struct Round: Sendable {
        var runs: [FeedRun.Kind: FeedRun] = [:]
        var numbering: FeedRun.Numbering?
        var shapes: [DeliveryShape: DeliveryShape.Run] = [:]
    }

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            let store = try BenchmarkStore()
            environment.progress("signing and storing \(events) notifications")
            try await cluster.makeDatabase(Self.template, program: environment.program)
            var traffic = SimulatedTraffic(seed: seed)
            _ = try await Backlog.fill([Self.template], of: cluster, events: events, traffic: &traffic, store: store)
            try await cluster.withConnection(to: Self.template) { connection in _ = try await connection.execute("VACUUM ANALYZE") }
            let settings = try store.workerSettings(database: Self.database, of: cluster)
            var measured: [Round] = []
            for number in 0..<rounds {
                let round = try await measure(number, of: cluster, settings: settings, environment: environment)
                measured.append(round)
            }
            return report(measured, machine: machine)
        }
    }

    private func measure(
        _ number: Int,
        of cluster: BenchmarkCluster,
        settings: [String: String],
        environment: BenchmarkEnvironment
    ) async throws -> Round {
        var round = Round()
        for index in Rounds.order(of: FeedRun.Kind.allCases.count, in: number) {
            try Task.checkCancellation()
            let kind = FeedRun.Kind.allCases[index]
            try await cluster.dropDatabase(Self.database)
            try await cluster.copyDatabase(Self.template, as: Self.database)
            let run = try await FeedRun.measure(kind, in: Self.database, of: cluster) {
                try await DrainRun.measure(
                    events: events,
                    in: Self.database,
                    of: cluster,
                    program: environment.program,
                    settings: settings
                )
            }
            round.runs[kind] = run
            environment.progress("round \(number + 1) of \(rounds): feed \(kind): \(run.drain.rate.figureText) events/s")
            guard kind == .numberedLater else { continue }
            let numbering = try await FeedRun.number(in: Self.database, of: cluster)
            environment.progress("numbered \(numbering.changes) changes in \(numbering.seconds.figureText) s")
            round.numbering = numbering
            for index in Rounds.order(of: DeliveryShape.allCases.count, in: number) {
                let shape = DeliveryShape.allCases[index]
                let entries = min(entries, numbering.entries)
                let run = try await shape.measure(entries: entries, endpoints: endpoints, in: Self.database, of: cluster)
                environment.progress("deliveries by \(shape): \(run.rate.figureText)/s")
                round.shapes[shape] = run
            }
        }
        try await cluster.dropDatabase(Self.database)
        return round
    }

    private func report(_ measured: [Round], machine: Machine) -> BenchmarkReport {
        func rates(_ kind: FeedRun.Kind) -> [Double] { measured.compactMap { $0.runs[kind]?.drain.rate } }
        let numberings = measured.compactMap(\.numbering)
        var report = BenchmarkReport(
            name: "feed",
            summary:
                "One worker process settles \(events) simulated notifications with the feed off, with it on, and with changes that are "
                + "numbered afterwards, by one session. Then the first entries are delivered to \(endpoints) endpoints, as far as PostgreSQL "
                + "is concerned, in batches of 100.",
            comparisons: [
                Comparison(
                    "numbering the changes of events",
                    unit: "events/s",
                    rounds: numberings.map { Double(events) / $0.seconds },
                    yardstick: Comparison.Yardstick("drain with the feed on", rounds: rates(.on)),
                    aim: .ratio(2)
                ),
                Comparison(
                    "drain with the feed on",
                    unit: "events/s",
                    rounds: rates(.on),
                    yardstick: Comparison.Yardstick("drain with the feed off", rounds: rates(.off))
                ),
                Comparison(
                    "deliveries by a cursor for each endpoint",
                    unit: "deliveries/s",
                    rounds: measured.compactMap { $0.shapes[.cursor]?.rate },
                    yardstick: Comparison.Yardstick(
                        "a row for each entry and endpoint, claimed with SKIP LOCKED",
                        rounds: measured.compactMap { $0.shapes[.rows]?.rate }
                    )
                ),
            ],
            machine: machine
        )
        let numberingTime = Duration.seconds(Samples(numberings.map(\.postgresTime.seconds)).median)
        report.costs = [
            ProcessorCost("PostgreSQL while it numbers", numberingTime, per: events, source: "process time of all its processes")
        ]
        report.details = details(of: measured, numberings)
        return report
    }

    /// Medians of the rounds.
    private func details(of measured: [Round], _ numberings: [FeedRun.Numbering]) -> [BenchmarkReport.Detail] {
        func detail(_ name: String, unit: String, _ figures: [Double]) -> BenchmarkReport.Detail {
            BenchmarkReport.Detail(name, Samples(figures).median, unit: unit)
        }
        func perEvent(_ name: String, _ kind: FeedRun.Kind, _ time: KeyPath<DrainRun, Duration>) -> BenchmarkReport.Detail {
            let times = measured.compactMap { $0.runs[kind]?.drain[keyPath: time].seconds }
            return detail(name, unit: "us per event", times.map { $0 * 1e6 / Double(events) })
        }
        func perDelivery(_ name: String, _ shape: DeliveryShape, unit: String, _ amount: (DeliveryShape.Run) -> Double)
            -> BenchmarkReport.Detail
        {
            detail(name, unit: unit, measured.compactMap { $0.shapes[shape] }.map { amount($0) / Double($0.deliveries) })
        }
        return [
            detail("changes", unit: "per event", numberings.map { Double($0.changes) / Double(events) }),
            detail("entries", unit: "per event", numberings.map { Double($0.entries) / Double(events) }),
            detail("changes numbered", unit: "per second", numberings.map { Double($0.changes) / $0.seconds }),
            detail("log while numbering", unit: "bytes per entry", numberings.map { Double($0.logBytes) / Double(max(1, $0.entries)) }),
            detail(
                "changes without a position when the drain ended",
                unit: "",
                measured.compactMap { $0.runs[.on].map { Double($0.left) } }
            ),
            perEvent("PostgreSQL, feed off", .off, \.postgresTime), perEvent("PostgreSQL, feed on", .on, \.postgresTime),
            perEvent("PostgreSQL, numbered later", .numberedLater, \.postgresTime),
            perEvent("worker, feed off", .off, \.workerTime), perEvent("worker, feed on", .on, \.workerTime),
            perDelivery("log, cursor", .cursor, unit: "bytes per delivery") { Double($0.logBytes) },
            perDelivery("log, rows", .rows, unit: "bytes per delivery") { Double($0.logBytes) },
            perDelivery("time, cursor", .cursor, unit: "us per delivery") { $0.seconds * 1e6 },
            perDelivery("time, rows", .rows, unit: "us per delivery") { $0.seconds * 1e6 },
        ]
    }
}
