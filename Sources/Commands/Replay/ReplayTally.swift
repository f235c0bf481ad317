/// What became of all bodies, and where to go on when it was not finished.
struct ReplayTally: Equatable {
    private(set) var counts: [String: Int] = [:]
    /// The first body that has to be posted still; nil when all were dealt with. Later ones may have been taken: to post those again does
    /// no harm.
    private(set) var resumeAt: ReplayItem.Origin?

    /// Whether there was anything, and all of it was taken (a dry run: could be).
    var isComplete: Bool {
        let (done, all) = (counts["taken", default: 0] + counts["ready", default: 0], counts.values.reduce(0, +))
        return all > 0 && done == all && resumeAt == nil
    }

    mutating func add(_ outcome: ReplayOutcome, of origin: ReplayItem.Origin) {
        counts[outcome.name, default: 0] += 1
        if case .unanswered = outcome { leave(origin) }
    }

    /// Notes a body that was not tried.
    mutating func leave(_ origin: ReplayItem.Origin) {
        resumeAt = min(resumeAt ?? origin, origin)
    }
}
