import Glibc

/// Unbuffered standard output: each write is visible at once, also in a pipe.
package enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    package static func write(_ text: String) {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            // The reader has closed the pipe; the repair continues.
            if count < 0 && errno != EINTR { return }
            if count > 0 { written += count }
        }
    }
}
