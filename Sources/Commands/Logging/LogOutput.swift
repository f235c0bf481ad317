import AppStore
import Glibc
import Synchronization

/// Where log lines go.
package struct LogOutput: Sendable {
    let now: @Sendable () -> Timestamp
    package let write: @Sendable (String) -> Void

    /// Standard error, one write for each line, so that lines of several processes do not mix.
    package static let standardError = LogOutput(now: currentTime) { line in
        writing.withLock { _ in line.writeAll(to: STDERR_FILENO) }
    }

    @Sendable private static func currentTime() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private static let writing = Mutex(())

    /// Whether standard error is a stream of the systemd journal. A child inherits `JOURNAL_STREAM`, so device and inode are compared.
    static func isJournal(environment: [String: String]) -> Bool {
        var status = stat()
        guard let stream = environment["JOURNAL_STREAM"], fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}
