import AppStore
import Glibc
import Synchronization

/// Where log lines go.
package struct LogOutput: Sendable {
    let now: @Sendable () -> Timestamp
    package let write: @Sendable (String) -> Void

    /// Standard error, one write for each line, so that lines of several processes do not mix.
    package static let standardError = LogOutput(now: currentTime) { line in
        let bytes = Array(line.utf8)
        writing.withLock { _ in
            var written = 0
            while written < bytes.count {
                let count = bytes[written...].withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
                // Standard error has failed, so the failure cannot be reported. The process continues without its log.
                if count < 0 && errno != EINTR { return }
                if count > 0 { written += count }
            }
        }
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
