/// One measurement of a worker that settles a backlog.
struct DrainRun: Sendable {
    let events: Int
    /// From the start of the process to its last outcome.
    let seconds: Double
    let workerTime: Duration
    let postgresTime: Duration
    let peakMemory: Int
    /// The count of each result.
    let results: [String: Int]

    var rate: Double { Double(events) / seconds }

    /// Starts a worker, waits until it has settled the backlog, and stops it.
    ///
    /// Throws unless each event has an outcome other than `failed` or `rejected`.
    static func measure(
        events: Int,
        in database: String,
        of cluster: BenchmarkCluster,
        program: String,
        settings: [String: String]
    ) async throws -> DrainRun {
        try await cluster.withConnection(to: database) { connection in
            let poller = BacklogPoller(connection: connection)
            let ready = try await poller.ready()
            let postgresBefore = try cluster.processorTime()
            let start = try await poller.now()
            let (times, peak) = try await Daemon.withWorker(program: program, settings: settings) { worker in
                try await poller.awaitSettled(ready.last, by: worker, within: BacklogPoller.timeout(for: events))
                let postgresTime = try cluster.processorTime() - postgresBefore
                return ((worker: try worker.processorTime(), postgres: postgresTime), try worker.peakMemory())
            }
            let (end, results) = try await poller.outcomes(since: start, from: ready.first)
            let settled = results.values.reduce(0, +)
            let refused = (results["failed"] ?? 0) + (results["rejected"] ?? 0)
            guard settled == events, refused == 0 else {
                throw BenchmarkError(.wrongResult, "\(events) events were to be settled, but these outcomes were recorded: \(results)")
            }
            return DrainRun(
                events: events,
                seconds: Double(end - start) / 1e6,
                workerTime: times.worker,
                postgresTime: times.postgres,
                peakMemory: peak,
                results: results
            )
        }
    }

    /// Processor time by part, as medians of the rounds.
    ///
    /// - Parameter verification: splits the worker's time into parts; nil when the worker is another build, and counts as one part.
    static func costs(_ runs: [DrainRun], events: Int, verification: VerificationCost?) -> [ProcessorCost] {
        costs(
            worker: .seconds(Samples(runs.map(\.workerTime.seconds)).median),
            postgres: .seconds(Samples(runs.map(\.postgresTime.seconds)).median),
            events: events,
            verification: verification
        )
    }

    /// Processor time of a worker, by part, and of PostgreSQL.
    static func costs(worker: Duration, postgres: Duration, events: Int, verification: VerificationCost?) -> [ProcessorCost] {
        let database = ProcessorCost("PostgreSQL", postgres, per: events, source: "process time of all its processes")
        guard let verification else { return [ProcessorCost("worker", worker, per: events, source: "its process time"), database] }
        let known = (verification.signatures + verification.decoding) * events
        let other = max(.zero, worker - known)
        return [
            ProcessorCost(
                "ECDSA and hashing",
                verification.signatures * events,
                per: events,
                source: "verified by themselves in the same run, on a sample of \(Backlog.sampleSize)"
            ),
            ProcessorCost(
                "decoding",
                verification.decoding * events,
                per: events,
                source: "verification as a whole on the same sample, less ECDSA and hashing"
            ),
            ProcessorCost("other Swift", other, per: events, source: "the worker's process time, less the two above"),
            database,
        ]
    }
}
