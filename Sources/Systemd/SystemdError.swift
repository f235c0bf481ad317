import Glibc

/// Why a message to systemd could not be sent; reported to the log, never fatal to the service.
struct SystemdError: Error, CustomStringConvertible {
    /// What went wrong.
    struct Code: Hashable, Sendable {
        private enum Kind { case unsupportedAddress, sendFailed }
        private let kind: Kind

        /// `NOTIFY_SOCKET` names something that this program cannot send to.
        static let unsupportedAddress = Code(kind: .unsupportedAddress)
        /// The datagram was not taken.
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
