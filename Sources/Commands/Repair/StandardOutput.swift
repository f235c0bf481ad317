import Glibc

/// Standard output for what is shown while a command goes on: each write comes out at once, also into a pipe.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            // Whoever read it has gone: what is shown is lost, the repair is not.
            if count < 0 && errno != EINTR { return }
            if count > 0 { written += count }
        }
    }
}
