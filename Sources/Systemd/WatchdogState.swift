/// Decides which heartbeat is passed on to systemd.
struct WatchdogState {
    /// What follows from a heartbeat.
    enum Action: Equatable { case send, nothing }

    private let pause: Duration
    private var loops: Set<Int> = []
    private var silent: Set<Int> = []
    private var lastSent: ContinuousClock.Instant?
    private var nextID = 1

    /// A third of the interval lies between two signs of life, so that one may be lost.
    init(interval: Duration) {
        self.pause = interval / 3
    }

    /// Adds a loop that has to beat before the next sign of life.
    mutating func register() -> Int {
        defer { nextID += 1 }
        loops.insert(nextID)
        silent.insert(nextID)
        return nextID
    }

    /// Takes a loop out; what it has not said does not matter any more.
    mutating func finish(_ id: Int) {
        loops.remove(id)
        silent.remove(id)
    }

    /// Notes that a loop went round; says whether a sign of life is due and all other loops have gone round too.
    mutating func beat(_ id: Int, at instant: ContinuousClock.Instant) -> Action {
        silent.remove(id)
        guard silent.isEmpty else { return .nothing }
        if let lastSent, instant - lastSent < pause { return .nothing }
        lastSent = instant
        silent = loops
        return .send
    }
}
