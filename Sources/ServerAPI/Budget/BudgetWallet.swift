/// The requests of a class that this process has taken from a budget and not made. Pure: the time is passed in.
struct BudgetWallet: Sendable {
    /// How long taken requests can be made. What is left then is lost: it must not add to a later second.
    static let lifetime = Duration.seconds(1)

    private var left = 0
    private var takenAt: ContinuousClock.Instant?
    /// The requests taken last.
    private var size = 0

    /// Uses one request; false when there is none.
    mutating func spend(at now: ContinuousClock.Instant) -> Bool {
        guard left > 0, let takenAt, now - takenAt < Self.lifetime else { return false }
        left -= 1
        return true
    }

    /// How many to take now: twice as many as the last time while they are used up within their lifetime, else one.
    func wanted(at now: ContinuousClock.Instant) -> Int {
        guard let takenAt, now - takenAt < Self.lifetime else { return 1 }
        return min(max(1, size * 2), 50)
    }

    /// Adds what was granted, at least one, and uses one of it.
    mutating func fill(_ granted: Int, at now: ContinuousClock.Instant) {
        let rest = takenAt.map { now - $0 < Self.lifetime } == true ? left : 0
        (left, size, takenAt) = (rest + granted - 1, granted, now)
    }

    mutating func empty() { left = 0 }
}
