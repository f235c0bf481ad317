/// One measurement of ingest, or of its yardstick.
struct IngestRun: Sendable {
    let events: Int
    /// Events a second.
    let rate: Double
    /// In milliseconds; empty for the yardstick.
    var latencies = Samples([])
    /// Processor time of `ingest`; zero for the yardstick, which has no server of its own.
    var serverTime = Duration.zero
    let postgresTime: Duration
    /// Processor time of the load generator, or of pgbench.
    let clientTime: Duration
    /// Peak memory of `ingest`, in bytes.
    var peakMemory = 0

    /// Processor time by part, as medians of the rounds.
    static func costs(_ runs: [IngestRun], bytes: Int) -> [ProcessorCost] {
        [
            ProcessorCost("ingest", perEvent(runs, \.serverTime), per: 1, source: "its process time, with bodies of \(bytes) bytes"),
            ProcessorCost("PostgreSQL", perEvent(runs, \.postgresTime), per: 1, source: "process time of all its processes"),
            ProcessorCost(
                "load generator",
                perEvent(runs, \.clientTime),
                per: 1,
                source: "process time of this process, which does nothing else meanwhile"
            ),
        ]
    }

    /// The details for one size of body.
    static func details(_ runs: [IngestRun], _ size: String, yardstick: [IngestRun]) -> [BenchmarkReport.Detail] {
        let us = "us of processor time per event"
        func microseconds(_ runs: [IngestRun], _ time: KeyPath<IngestRun, Duration>) -> Double {
            perEvent(runs, time).seconds * 1e6
        }
        return [
            BenchmarkReport.Detail("\(size): ingest", microseconds(runs, \.serverTime), unit: us),
            BenchmarkReport.Detail("\(size): PostgreSQL", microseconds(runs, \.postgresTime), unit: us),
            BenchmarkReport.Detail("\(size): load generator", microseconds(runs, \.clientTime), unit: us),
            BenchmarkReport.Detail("\(size): pgbench itself", microseconds(yardstick, \.clientTime), unit: us),
            BenchmarkReport.Detail("\(size): PostgreSQL under pgbench", microseconds(yardstick, \.postgresTime), unit: us),
            BenchmarkReport.Detail("\(size): p99 at full load", Samples(runs.map { $0.latencies.percentile(99) }).median, unit: "ms"),
            BenchmarkReport.Detail("\(size): peak memory of ingest", Double(runs.map(\.peakMemory).max() ?? 0) / 1e6, unit: "MB"),
        ]
    }

    private static func perEvent(_ runs: [IngestRun], _ time: KeyPath<IngestRun, Duration>) -> Duration {
        .seconds(Samples(runs.map { $0[keyPath: time].seconds / Double(max(1, $0.events)) }).median)
    }
}
