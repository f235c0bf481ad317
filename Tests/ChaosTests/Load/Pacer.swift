import Glibc
import Synchronization

/// Hands out chapters until enough was accepted and has happened, spread over the time that the run is to take.
final class Pacer: Sendable {
    private let events: Int
    private let duration: Duration
    private let start = ContinuousClock.now
    private let next = Atomic(0)
    private let isEnded = Atomic(false)
    private let diary: Diary
    private let tally: FaultTally

    init(events: Int, duration: Duration, diary: Diary, tally: FaultTally) {
        (self.events, self.duration, self.diary, self.tally) = (events, duration, diary, tally)
    }

    /// The number of the next chapter; nil when there was enough.
    func chapter() -> Int? {
        guard !isOver else { return nil }
        return next.add(1, ordering: .relaxed).oldValue
    }

    /// Whether no more chapters are to be begun: enough was accepted, and each fault has happened meanwhile, or cannot be hoped for.
    var isOver: Bool {
        if wasEnded { return true }
        let accepted = diary.sums.accepted
        return accepted >= events && (tally.missing.isEmpty || accepted >= 3 * events + 3000)
    }

    /// Nobody is to send anything any more, not even what is under way.
    func end() { isEnded.store(true, ordering: .relaxed) }
    var wasEnded: Bool { isEnded.load(ordering: .relaxed) }

    /// Holds a sender back that is ahead of the time.
    func holdBack() {
        while !wasEnded, ContinuousClock.now - start < duration * (Double(diary.sums.accepted) / Double(events)) {
            _ = poll(nil, 0, 5)
        }
    }
}
