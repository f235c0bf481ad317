/// Counts the outcomes of all bodies and remembers where an unfinished replay can continue.
struct ReplayTally: Equatable {
    private(set) var counts: [String: Int] = [:]
    /// The first body that still has to be posted; nil when none has. Later ones may have been taken; posting them again does no harm.
    private(set) var resumeAt: ReplayItem.Origin?

    /// Whether there was a body, and all were taken (in a dry run: could be posted).
    var isComplete: Bool {
        let (done, all) = (counts["taken", default: 0] + counts["ready", default: 0], counts.values.reduce(0, +))
        return all > 0 && done == all && resumeAt == nil
    }

    mutating func add(_ outcome: ReplayOutcome, of origin: ReplayItem.Origin) {
        counts[outcome.name, default: 0] += 1
        if case .unanswered = outcome { leave(origin) }
    }

    /// Records a body that still has to be posted.
    mutating func leave(_ origin: ReplayItem.Origin) {
        resumeAt = min(resumeAt ?? origin, origin)
    }
}
