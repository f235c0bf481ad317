import Postgres

/// Measures how fast one worker process settles a backlog, with PostgreSQL on the same machine.
package struct DrainBenchmark: Sendable {
    /// Simulated notifications in the backlog.
    package var events = 100_000
    package var rounds = 3
    /// How long the yardstick is measured in each round.
    package var yardstickSeconds = 3
    package var seed: UInt64 = 1
    /// Settings of the worker that override its defaults, without their prefix, such as `CONCURRENCY`.
    package var workerSettings: [String: String] = [:]

    package init() {}

    private static let template = "backlog"

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        machine.openssl = try await OpenSSLSpeed.version()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            let store = try BenchmarkStore()
            environment.progress("signing and storing \(events) notifications")
            let backlog = try await prepare(cluster, store: store, program: environment.program)
            let cost = try VerificationCost(of: backlog.sample, store: store, in: environment)
            var runs: [DrainRun] = []
            var bounds: [Double] = []
            for round in 0..<rounds {
                // The two take turns in going first.
                if round.isMultiple(of: 2) { bounds.append(try await bound(for: backlog)) }
                runs.append(try await drain(backlog, cluster: cluster, store: store, program: environment.program))
                if !round.isMultiple(of: 2) { bounds.append(try await bound(for: backlog)) }
                let (rate, bound) = (runs[round].rate.figureText, bounds[round].figureText)
                environment.progress("round \(round + 1) of \(rounds): \(rate) events/s, bound \(bound) events/s")
            }
            return report(runs, bounds: bounds, backlog: backlog, cost: cost, machine: machine)
        }
    }

    private func prepare(_ cluster: BenchmarkCluster, store: BenchmarkStore, program: String) async throws -> Backlog {
        try await cluster.makeDatabase(Self.template, program: program)
        var traffic = SimulatedTraffic(seed: seed)
        let backlog = try await Backlog.fill([Self.template], of: cluster, events: events, traffic: &traffic, store: store)
        try await cluster.withConnection(to: Self.template) { connection in _ = try await connection.execute("VACUUM ANALYZE") }
        return backlog
    }

    /// The events a second whose signatures all cores can verify.
    private func bound(for backlog: Backlog) async throws -> Double {
        let perCore = try await OpenSSLSpeed.verificationsPerSecond(seconds: yardstickSeconds)
        return perCore / backlog.signaturesPerEvent * Double(Machine.processorCount)
    }

    private func drain(
        _ backlog: Backlog,
        cluster: BenchmarkCluster,
        store: BenchmarkStore,
        program: String
    ) async throws -> DrainRun {
        let database = "drained"
        try await cluster.dropDatabase(database)
        try await cluster.copyDatabase(Self.template, as: database)
        try await cluster.checkpoint()
        var settings = try store.workerSettings(database: database, of: cluster)
        settings.merge(workerSettings) { $1 }
        let run = try await DrainRun.measure(events: backlog.events, in: database, of: cluster, program: program, settings: settings)
        try await cluster.dropDatabase(database)
        return run
    }

    private func report(
        _ runs: [DrainRun],
        bounds: [Double],
        backlog: Backlog,
        cost: VerificationCost?,
        machine: Machine
    ) -> BenchmarkReport {
        let signatures = backlog.signaturesPerEvent.figureText
        var report = BenchmarkReport(
            name: "drain",
            summary: "One worker process settles \(backlog.events) simulated notifications of all types: whole lives of customers, "
                + "interleaved, \(backlog.bytes / max(1, backlog.events)) bytes each on average. Measured from the start of the process "
                + "to its last outcome.",
            comparisons: [
                Comparison(
                    "drain",
                    unit: "events/s",
                    rounds: runs.map(\.rate),
                    yardstick: Comparison.Yardstick(
                        "openssl speed ecdsap256 verify/s / \(signatures) JWS per event x \(Machine.processorCount) cores",
                        rounds: bounds
                    ),
                    aim: .ratio(0.5)
                )
            ],
            machine: machine
        )
        report.costs = DrainRun.costs(runs, events: backlog.events, verification: cost)
        report.details = [
            BenchmarkReport.Detail("JWS per event", backlog.signaturesPerEvent, unit: ""),
            BenchmarkReport.Detail("worker's peak memory", Samples(runs.map { Double($0.peakMemory) / 1e6 }).median, unit: "MB"),
        ]
        report.details +=
            runs.first.map { $0.results.sorted { $0.key < $1.key } }.map { results in
                results.map { BenchmarkReport.Detail("outcomes \($0.key)", Double($0.value), unit: "events") }
            } ?? []
        report.mix = backlog.mix
        return report
    }
}
