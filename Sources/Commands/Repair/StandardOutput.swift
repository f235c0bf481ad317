import Glibc

/// Unbuffered standard output: each write is visible at once, also in a pipe.
package enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    package static func write(_ text: String) { text.writeAll(to: STDOUT_FILENO) }
}

extension String {
    /// Writes the text to a file descriptor. After an error, such as that of a closed pipe, the process goes on without this output.
    func writeAll(to descriptor: CInt) {
        let bytes = Array(utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR { return }
            if count > 0 { written += count }
        }
    }
}
