package import Logging
import Synchronization

/// Counts what may happen thousands of times a second, and logs at most one line a minute for each kind of it.
///
/// The owner calls ``flush()`` about once a second. The first line of a kind comes with the next flush, and a line for what happened since then
/// comes a minute later. There is no line for a minute in which nothing happened.
package final class OccurrenceSummary: Sendable {
    private struct Kind: Hashable {
        let level: Logger.Level
        let labels: [String: String]
    }

    private struct Tally {
        var count = 0
        /// When the last line was written; nil before the first.
        var writtenAt: ContinuousClock.Instant?
    }

    private let message: Logger.Message
    private let interval: Duration
    private let maximumKinds: Int
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let tallies = Mutex<[Kind: Tally]>([:])

    /// - Parameters:
    ///   - message: the same for all kinds, which differ in their labels.
    ///   - maximumKinds: the number of kinds beyond which details are left out.
    package init(
        _ message: Logger.Message,
        interval: Duration = .seconds(60),
        maximumKinds: Int = 20,
        logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.message = message
        self.interval = interval
        self.maximumKinds = maximumKinds
        self.logger = logger
        self.now = now
    }

    /// Counts one occurrence.
    ///
    /// - Parameters:
    ///   - labels: the line's metadata; of few values. They must not hold an id, a secret or a body.
    ///   - details: more metadata, which a sender may choose.
    package func count(_ labels: [String: String], details: [String: String] = [:], level: Logger.Level) {
        let detailed = Kind(level: level, labels: labels.merging(details) { $1 })
        let plain = Kind(level: level, labels: labels)
        tallies.withLock { $0[$0[detailed] != nil || $0.count < maximumKinds ? detailed : plain, default: Tally()].count += 1 }
    }

    /// Logs what is due, or all of it where the process ends.
    package func flush(all: Bool = false) {
        let now = now()
        let lines = tallies.withLock { tallies -> [(kind: Kind, count: Int, seconds: Int64)] in
            var lines: [(kind: Kind, count: Int, seconds: Int64)] = []
            for (kind, tally) in tallies {
                let elapsed = tally.writtenAt.map { now - $0 }
                if let elapsed, elapsed < interval, !all { continue }
                tallies[kind] = tally.count > 0 ? Tally(writtenAt: now) : nil
                if tally.count > 0 { lines.append((kind, tally.count, elapsed?.components.seconds ?? 1)) }
            }
            return lines
        }
        for line in lines.sorted(by: { $0.count > $1.count }) {
            var metadata = Logger.Metadata(uniqueKeysWithValues: line.kind.labels.map { ($0.key, "\($0.value)") })
            metadata["count"] = "\(line.count)"
            metadata["seconds"] = "\(line.seconds)"
            logger.log(level: line.kind.level, message, metadata: metadata)
        }
    }
}

/// Detects the first failure and the first success after it, so that each is logged once.
package final class EdgeTrigger: Sendable {
    private let isFailing = Mutex(false)

    package init() {}

    /// Records a failure; true for the first one.
    package func began() -> Bool { set(true) }

    /// Records a success; true for the first one after a failure.
    package func ended() -> Bool { set(false) }

    private func set(_ value: Bool) -> Bool {
        isFailing.withLock { isFailing in
            defer { isFailing = value }
            return isFailing != value
        }
    }
}
