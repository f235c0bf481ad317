/// One measurement of a queue.
struct QueueRun: Sendable {
    /// Events that were settled.
    let events: Int
    /// Events a second.
    let rate: Double
    /// Processor time of PostgreSQL's client.
    let clientTime: Duration
    let postgresTime: Duration

    /// Measures `body`, which returns the client's processor time.
    static func measure(events: Int, cluster: BenchmarkCluster, _ body: () async throws -> Duration) async throws -> QueueRun {
        let before = try cluster.processorTime()
        let start = SteadyClock.now()
        let clientTime = try await body()
        let seconds = SteadyClock.now() - start
        return QueueRun(
            events: events,
            rate: Double(events) / seconds,
            clientTime: clientTime,
            postgresTime: try cluster.processorTime() - before
        )
    }

    /// The median processor time per event.
    static func cost(_ part: String, _ runs: [QueueRun], _ time: KeyPath<QueueRun, Duration>, source: String) -> ProcessorCost {
        let perEvent = runs.map { $0[keyPath: time].seconds / Double(max(1, $0.events)) }
        return ProcessorCost(part, .seconds(Samples(perEvent).median), per: 1, source: source)
    }

    /// The same, as a detail of the report.
    static func detail(_ part: String, _ runs: [QueueRun], _ time: KeyPath<QueueRun, Duration>) -> BenchmarkReport.Detail {
        BenchmarkReport.Detail(part, cost(part, runs, time, source: "").microseconds, unit: "us per event")
    }
}
