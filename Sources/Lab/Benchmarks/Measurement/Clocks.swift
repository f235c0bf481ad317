import Glibc

/// Processor time of this process, summed over its threads.
enum ProcessClock {
    /// Since the process began.
    static func now() -> Duration { .microseconds(clock() * 1_000_000 / CLOCKS_PER_SEC) }
}

/// Processor time of the calling thread.
enum ThreadClock {
    private static func now() throws -> Duration {
        var time = timespec()
        guard clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else {
            throw BenchmarkError(.system, "clock_gettime gives no processor time of a thread")
        }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The processor time that `body` takes.
    static func time(_ body: () throws -> Void) throws -> Duration {
        let start = try now()
        try body()
        return try now() - start
    }
}

/// Monotonic time.
enum SteadyClock {
    private static let origin = ContinuousClock.now

    /// Seconds since an arbitrary instant.
    static func now() -> Double { (ContinuousClock.now - origin).seconds }
}
