import Glibc

/// A message to systemd could not be sent. The error is logged and never fatal.
struct SystemdError: Error, CustomStringConvertible {
    /// The kind of failure.
    struct Code: Hashable, Sendable {
        private enum Kind { case unsupportedAddress, sendFailed }
        private let kind: Kind

        /// `NOTIFY_SOCKET` has an address to which this program cannot send.
        static let unsupportedAddress = Code(kind: .unsupportedAddress)
        /// The datagram was not accepted.
        static let sendFailed = Code(kind: .sendFailed)
    }

    let code: Code
    let message: String

    init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    init(code: Code, systemCall: String, errorNumber: CInt) {
        self.init(code: code, message: "\(systemCall): \(String(cString: strerror(errorNumber)))")
    }

    /// Whether sending the same message later can succeed.
    var isRetryable: Bool { code == .sendFailed }

    var description: String { message }
}
