import Randomness

/// Measures the peak memory of ingest under load, and of a worker with a large backlog.
package struct MemoryBenchmark: Sendable {
    /// Tiny bodies in the backlog, which are not genuine notifications.
    package var tinyEvents = 1_000_000
    /// Notifications in the backlog, in Apple's sizes, before the tiny ones.
    package var events = 10_000
    /// How long ingest is under load, and how long the worker runs at most.
    package var seconds = 20
    package var connections = 64
    /// The size of the bodies that are posted, in bytes.
    package var bytes = 18_900
    package var seed: UInt64 = 1

    package init() {}

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            environment.progress("ingest under load")
            let ingest = try await measureIngest(cluster, program: environment.program)
            environment.progress("making \(events) notifications and \(tinyEvents) tiny events")
            let (worker, settled) = try await measureWorker(cluster, environment: environment)
            var report = BenchmarkReport(
                name: "memory",
                summary: "Peak memory of each process (VmHWM): ingest with \(connections) connections that post bodies of "
                    + "\(bytes) bytes as fast as they are answered, for \(seconds) s; a worker with \(events) notifications of all types and "
                    + "then \(tinyEvents) tiny events, which are refused, in its backlog, for \(seconds) s.",
                comparisons: [
                    Comparison("ingest", unit: "MB", rounds: [Double(ingest.peakMemory) / 1e6], aim: .below(60)),
                    Comparison("worker", unit: "MB", rounds: [Double(worker) / 1e6], aim: .below(100)),
                ],
                machine: machine
            )
            report.details = [
                BenchmarkReport.Detail("ingest stored", Double(ingest.events), unit: "events"),
                BenchmarkReport.Detail("worker settled", Double(settled), unit: "events"),
            ]
            report.costs = IngestRun.costs([ingest], bytes: bytes)
            return report
        }
    }

    private func measureIngest(_ cluster: BenchmarkCluster, program: String) async throws -> IngestRun {
        let setup = IngestSetup(cluster: cluster, program: program, connections: connections)
        try await setup.prepare()
        var generator = SeededGenerator(seed: seed)
        let bodies = (0..<16).map { _ in PlainBody.make(bytes: bytes, using: &generator) }
        return try await setup.own(bodies, pace: .asFastAsAnswered(seconds: Double(seconds)))
    }

    /// The worker's peak memory, and the number of events that it has settled.
    private func measureWorker(_ cluster: BenchmarkCluster, environment: BenchmarkEnvironment) async throws -> (peak: Int, settled: Int) {
        let store = try BenchmarkStore()
        let database = "behind"
        try await cluster.makeDatabase(database, program: environment.program)
        var traffic = SimulatedTraffic(seed: seed)
        _ = try await Backlog.fill([database], of: cluster, events: events, traffic: &traffic, store: store)
        try await Filler.queue(tinyEvents, dueIn: 0, in: database, of: cluster)
        let settings = try store.workerSettings(database: database, of: cluster)
        environment.progress("worker with a backlog")
        return try await cluster.withConnection(to: database) { connection in
            let poller = BacklogPoller(connection: connection)
            let start = try await poller.now()
            let ready = try await poller.ready()
            let peak = try await Daemon.withWorker(program: environment.program, settings: settings) { worker in
                try await poller.awaitSettled(ready.last, by: worker, atMost: .seconds(seconds))
                return try worker.peakMemory()
            }
            let results = try await poller.outcomes(since: start, from: ready.first).results
            guard let applied = results["applied"], applied > 0 || events == 0 else {
                throw BenchmarkError(.wrongResult, "the worker has applied no event: \(results)")
            }
            return (peak, results.values.reduce(0, +))
        }
    }
}
