/// Measures whether a worker stays as fast when many events were settled before.
package struct FlatBenchmark: Sendable {
    /// Notifications drained in each measurement.
    package var events = 10_000
    package var rounds = 3
    /// Events that were settled before, for each of the databases beside the empty one.
    package var settled = [1_000_000, 10_000_000]
    package var seed: UInt64 = 1

    package init() {}

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            let store = try BenchmarkStore()
            let levels = [0] + settled
            for level in levels {
                environment.progress("making a database with \(level) settled events")
                try await cluster.makeDatabase(Self.database(level), program: environment.program)
                try await Filler.settle(level, in: Self.database(level), of: cluster)
            }
            var traffic = SimulatedTraffic(seed: seed)
            // The first customers of an empty database cost more than later ones; they are not measured.
            _ = try await fill(levels, cluster: cluster, traffic: &traffic, store: store)
            for level in levels { _ = try await drain(level, cluster: cluster, store: store, environment: environment) }
            var runs = [[Run]](repeating: [], count: levels.count)
            var backlog = Backlog()
            for round in 0..<rounds {
                backlog = try await fill(levels, cluster: cluster, traffic: &traffic, store: store)
                for index in Rounds.order(of: levels.count, in: round) {
                    let run = try await drain(levels[index], cluster: cluster, store: store, environment: environment)
                    environment.progress("round \(round + 1) of \(rounds): \(levels[index]) settled: \(run.drain.rate.figureText) events/s")
                    runs[index].append(run)
                }
            }
            let cost = try VerificationCost(of: backlog.sample, store: store, in: environment)
            return report(levels, runs, cost: cost, machine: machine)
        }
    }

    private struct Run {
        let drain: DrainRun
        let pages: PageTraffic
    }

    private static func database(_ level: Int) -> String { "settled_\(level)" }

    /// Stores the same notifications in all databases.
    private func fill(
        _ levels: [Int],
        cluster: BenchmarkCluster,
        traffic: inout SimulatedTraffic,
        store: BenchmarkStore
    ) async throws -> Backlog {
        try await Backlog.fill(levels.map(Self.database), of: cluster, events: events, traffic: &traffic, store: store)
    }

    private func drain(
        _ level: Int,
        cluster: BenchmarkCluster,
        store: BenchmarkStore,
        environment: BenchmarkEnvironment
    ) async throws -> Run {
        let database = Self.database(level)
        try await cluster.checkpoint()
        let settings = try store.workerSettings(database: database, of: cluster)
        func pages() async throws -> PageTraffic {
            try await PageTraffic.now(of: database, afterSessionsOf: "appstore_worker", cluster: cluster)
        }
        let before = try await pages()
        let drain = try await DrainRun.measure(
            events: events,
            in: database,
            of: cluster,
            program: environment.program,
            settings: settings
        )
        return Run(drain: drain, pages: try await pages() - before)
    }

    private func report(_ levels: [Int], _ runs: [[Run]], cost: VerificationCost?, machine: Machine) -> BenchmarkReport {
        let empty = runs[0].map(\.drain.rate)
        var report = BenchmarkReport(
            name: "flat",
            summary: "One worker process settles \(events) simulated notifications, the same ones in each database, after so many events "
                + "were settled there: each with a tiny body, an outcome and a notificationUUID that was seen; each dozen has its own "
                + "contract with six charges and their orders and effects.",
            comparisons: zip(levels, runs).map { level, runs in
                guard level > 0 else { return Comparison("drain with nothing settled", unit: "events/s", rounds: empty) }
                return Comparison(
                    "drain with \(level) settled",
                    unit: "events/s",
                    rounds: runs.map(\.drain.rate),
                    yardstick: Comparison.Yardstick("its own rate with nothing settled", rounds: empty),
                    aim: .ratio(0.95)
                )
            },
            machine: machine
        )
        report.costs = DrainRun.costs(runs.last?.map(\.drain) ?? [], events: events, verification: cost)
        report.details = zip(levels, runs).flatMap(details)
        return report
    }

    /// Medians, for each event.
    private func details(of level: Int, _ runs: [Run]) -> [BenchmarkReport.Detail] {
        func detail(_ name: String, unit: String, _ amount: (Run) -> Double) -> BenchmarkReport.Detail {
            BenchmarkReport.Detail(
                "\(name) with \(level) settled",
                Samples(runs.map { amount($0) / Double(events) }).median,
                unit: "\(unit) per event"
            )
        }
        return [
            detail("PostgreSQL", unit: "us") { $0.drain.postgresTime.seconds * 1_000_000 },
            detail("pages read", unit: "pages") { Double($0.pages.reads) },
            detail("full page images", unit: "pages") { Double($0.pages.fullPageImages) },
            detail("log written", unit: "bytes") { Double($0.pages.logBytes) },
        ]
    }
}
