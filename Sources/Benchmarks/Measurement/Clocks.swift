import Glibc

/// Processor time of this process, all its threads together.
enum ProcessClock {
    /// Since the process began.
    static func now() -> Duration { .microseconds(clock() * 1_000_000 / CLOCKS_PER_SEC) }
}

/// Processor time of the thread that asks, whatever others do meanwhile.
enum ThreadClock {
    private static func now() throws -> Duration {
        var time = timespec()
        guard clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else {
            throw BenchmarkError(.system, "the system does not tell a thread's processor time")
        }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// What `body` takes.
    static func time(_ body: () throws -> Void) throws -> Duration {
        let start = try now()
        try body()
        return try now() - start
    }
}

/// Time that no change of the calendar's clock moves.
enum SteadyClock {
    private static let origin = ContinuousClock.now

    /// Seconds since some instant.
    static func now() -> Double { (ContinuousClock.now - origin).seconds }
}
