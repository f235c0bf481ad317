import Glibc

/// Processor time of this process, all its threads together. What is measured by it runs on one thread while the others rest.
enum ProcessClock {
    /// Since the process began.
    static func now() -> Duration { .microseconds(clock() * 1_000_000 / CLOCKS_PER_SEC) }

    /// What `body` takes.
    static func time(_ body: () throws -> Void) rethrows -> Duration {
        let start = now()
        try body()
        return now() - start
    }
}

/// Time that no change of the calendar's clock moves.
enum SteadyClock {
    private static let origin = ContinuousClock.now

    /// Seconds since some instant.
    static func now() -> Double { (ContinuousClock.now - origin).seconds }
}
