import Glibc
import Synchronization

/// Hands out segments until enough posts are accepted and every fault has happened, spread over the duration of the run.
final class Pacer: Sendable {
    private let events: Int
    private let duration: Duration
    private let start = ContinuousClock.now
    private let next = Atomic(0)
    private let isEnded = Atomic(false)
    private let postLog: PostLog
    private let tally: FaultTally

    init(events: Int, duration: Duration, postLog: PostLog, tally: FaultTally) {
        (self.events, self.duration, self.postLog, self.tally) = (events, duration, postLog, tally)
    }

    /// The number of the next segment; nil when the load is over.
    func nextSegment() -> Int? {
        guard !isOver else { return nil }
        return next.add(1, ordering: .relaxed).oldValue
    }

    /// Whether no more segments are started: enough posts are accepted, and every fault has happened or is no longer waited for.
    var isOver: Bool {
        if wasEnded { return true }
        let accepted = postLog.sums.accepted
        return accepted >= events && (tally.missing.isEmpty || accepted >= 3 * events + 3000)
    }

    /// Stops all senders, also in the middle of a segment.
    func end() { isEnded.store(true, ordering: .relaxed) }
    var wasEnded: Bool { isEnded.load(ordering: .relaxed) }

    /// Blocks the sender while the load is ahead of schedule.
    func throttle() {
        while !wasEnded, ContinuousClock.now - start < duration * (Double(postLog.sums.accepted) / Double(events)) {
            _ = poll(nil, 0, 5)
        }
    }
}
