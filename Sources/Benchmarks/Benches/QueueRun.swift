/// One way through a queue.
struct QueueRun: Sendable {
    /// Events a second.
    let rate: Double
    /// Processor time of whoever asks PostgreSQL.
    let clientTime: Duration
    let postgresTime: Duration

    /// Measures `body`, which answers the client's processor time.
    static func measure(events: Int, cluster: BenchmarkCluster, _ body: () async throws -> Duration) async throws -> QueueRun {
        let before = try cluster.processorTime()
        let start = SteadyClock.now()
        let clientTime = try await body()
        let seconds = SteadyClock.now() - start
        return QueueRun(
            rate: Double(events) / seconds,
            clientTime: clientTime,
            postgresTime: try cluster.processorTime() - before
        )
    }

    /// The median of the rounds.
    static func cost(_ part: String, _ times: [Duration], events: Int, source: String) -> ProcessorCost {
        ProcessorCost(part, .seconds(Samples(times.map(\.seconds)).median), per: events, source: source)
    }

    /// The same as a figure beside the others.
    static func detail(_ part: String, _ times: [Duration], events: Int) -> BenchmarkReport.Detail {
        BenchmarkReport.Detail(part, cost(part, times, events: events, source: "").microseconds, unit: "us per event")
    }
}
