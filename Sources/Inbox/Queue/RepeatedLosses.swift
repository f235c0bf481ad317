/// Which events had a batch for themselves that was lost, several times in a row.
///
/// Networks and servers come and go, and a batch that is lost with its connection or to a time-out is nobody's fault. But where the same event
/// is the only one on board each time, it may be what ends PostgreSQL's process, by its size say, and all other sessions with it. It loses no
/// attempt, since that cannot be known; it is put off, longer and longer, and runs alone from then on, so that others are settled meanwhile.
struct RepeatedLosses: Sendable {
    private struct Record: Sendable {
        var losses = 0
        /// Whether it was put off since the last loss, so that it is its turn again.
        var isPutOff = false
    }

    /// Losses that may be chance.
    private let tolerated = 2
    private let backoff = RetryPolicy(maximumAttempts: .max, baseDelay: .seconds(5), maximumDelay: .seconds(600))
    /// Others may have settled those that this process knows of.
    private let capacity = 1000
    private var records: [Int64: Record] = [:]

    var isEmpty: Bool { records.isEmpty }

    /// A batch with only that event was lost.
    mutating func lost(_ event: Int64) {
        if records[event] == nil, records.count >= capacity { records.removeAll() }
        records[event, default: Record()].losses += 1
        records[event]?.isPutOff = false
    }

    /// How long an event that was claimed is to be put off; nil when it is to run.
    func delay(of event: Int64, using generator: inout some RandomNumberGenerator) -> Duration? {
        guard let record = records[event], record.losses > tolerated, !record.isPutOff else { return nil }
        return backoff.delay(afterFailures: record.losses - tolerated, using: &generator)
    }

    /// It was committed that these wait.
    mutating func putOff(_ events: some Sequence<Int64>) {
        for event in events { records[event]?.isPutOff = true }
    }

    /// Whatever became of these was committed.
    mutating func committed(_ events: some Sequence<Int64>) {
        guard !records.isEmpty else { return }
        for event in events { records[event] = nil }
    }
}
