/// Decides which heartbeat sends a keep-alive to systemd.
struct WatchdogState {
    /// The action after a heartbeat.
    enum Action: Equatable { case send, nothing }

    private let pause: Duration
    private var loops: Set<Int> = []
    private var silent: Set<Int> = []
    private var lastSent: ContinuousClock.Instant?
    private var nextID = 1

    /// Keep-alives are sent at a third of the interval, so that one may be lost.
    init(interval: Duration) {
        self.pause = interval / 3
    }

    /// Adds a loop that has to beat before the next keep-alive.
    mutating func register() -> Int {
        defer { nextID += 1 }
        loops.insert(nextID)
        silent.insert(nextID)
        return nextID
    }

    /// Removes a loop until it beats again.
    mutating func finish(_ id: Int) {
        loops.remove(id)
        silent.remove(id)
    }

    /// Records a heartbeat. Returns `send` when a keep-alive is due and all other loops have beaten since the last one.
    mutating func beat(_ id: Int, at instant: ContinuousClock.Instant) -> Action {
        loops.insert(id)
        silent.remove(id)
        guard silent.isEmpty else { return .nothing }
        if let lastSent, instant - lastSent < pause { return .nothing }
        lastSent = instant
        silent = loops
        return .send
    }
}
