import InboxQueue
import Postgres

extension QueueBenchmark {
    private enum Measured: Int, CaseIterable {
        case held, free
    }

    private static let copy = "inbox_without_snapshot"
    /// The databases are measured in turns for at most so many seconds, unless the rounds take longer.
    private static let comparisonSeconds = 180

    /// Settles events for so many seconds under a snapshot, then measures the queue in turns with an earlier copy of the database.
    ///
    /// The snapshot is held throughout, and hinders vacuum in its own database only. Measuring in turns makes the machine's other work,
    /// such as writing out ten minutes of load, affect both alike.
    func compareHeld(
        for seconds: Int,
        cluster: BenchmarkCluster,
        environment: BenchmarkEnvironment
    ) async throws -> (Comparison, [BenchmarkReport.Detail]) {
        try await cluster.vacuum(Self.database, table: "appstore.inbox_queue")
        try await cluster.copyDatabase(Self.database, as: Self.copy)
        environment.progress("settling for \(seconds) s under one snapshot")
        let (figures, others) = try await withDrain(of: Self.database, cluster) { held in
            try await withDrain(of: Self.copy, cluster) { free in
                try await cluster.withSnapshot(of: Self.database, isHeld: true) {
                    var count = 0
                    let start = SteadyClock.now()
                    while SteadyClock.now() - start < Double(seconds) {
                        try Task.checkCancellation()
                        count += try await measure(held, of: Self.database, cluster).events
                    }
                    environment.progress("settled \(count) events under one snapshot")
                    // The first measurement also opens connections and grows files.
                    _ = try await measure(free, of: Self.copy, cluster)
                    let end = SteadyClock.now() + Double(min(seconds, Self.comparisonSeconds))
                    let figures = try await Rounds.run(atLeast: rounds, until: { SteadyClock.now() > end }, of: Measured.allCases.count) {
                        index,
                        round in
                        let isHeld = Measured.allCases[index] == .held
                        let run = try await measure(isHeld ? held : free, of: isHeld ? Self.database : Self.copy, cluster)
                        environment.progress("turn \(round + 1): \(Measured.allCases[index]) \(run.rate.figureText) events/s")
                        return run
                    }
                    return (figures, try await othersUnderSnapshot(of: cluster))
                }
            }
        }
        let (comparison, details) = compared(figures, after: seconds)
        return (comparison, details + others)
    }

    /// Measures what scans the rows that died under the snapshot: a new process, which has no low-water mark, and the statistics.
    private func othersUnderSnapshot(of cluster: BenchmarkCluster) async throws -> [BenchmarkReport.Detail] {
        let count = batch * 20
        try await Filler.queue(count, dueIn: 0, in: Self.database, of: cluster)
        let start = SteadyClock.now()
        let end = try await withDrain(of: Self.database, cluster) { try await $0.end(ofFirst: count) }
        guard let end else { throw BenchmarkError(.wrongResult, "fewer than \(count) events were settled") }
        let statistics = try await cluster.withConnection(to: Self.database) { connection in
            let start = SteadyClock.now()
            _ = try await connection.query(InboxStatistics.statement)
            return SteadyClock.now() - start
        }
        return [
            BenchmarkReport.Detail("a new process settles \(count) events there", (end - start) * 1000, unit: "ms"),
            BenchmarkReport.Detail("inbox_statistics() there", statistics * 1000, unit: "ms"),
        ]
    }

    private func compared(_ figures: [[QueueRun]], after seconds: Int) -> (Comparison, [BenchmarkReport.Detail]) {
        let (held, free) = (figures[Measured.held.rawValue], figures[Measured.free.rawValue])
        let comparison = Comparison(
            "queue after \(seconds) s under one snapshot",
            unit: "events/s",
            rounds: held.map(\.rate),
            yardstick: Comparison.Yardstick("a copy of it without one, in turns", rounds: free.map(\.rate)),
            aim: .ratio(0.95)
        )
        let details = [
            QueueRun.detail("PostgreSQL after \(seconds) s under one snapshot", held, \.postgresTime),
            QueueRun.detail("PostgreSQL in the copy without one", free, \.postgresTime),
        ]
        return (comparison, details)
    }
}
