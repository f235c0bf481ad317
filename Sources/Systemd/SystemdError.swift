import Glibc

/// A message to systemd could not be sent, or a socket of systemd cannot be used.
package struct SystemdError: Error, CustomStringConvertible {
    /// The kind of failure.
    struct Code: Hashable, Sendable {
        private enum Kind { case unsupportedAddress, sendFailed, unusableSocket }
        private let kind: Kind

        /// `NOTIFY_SOCKET` has an address to which this program cannot send.
        static let unsupportedAddress = Code(kind: .unsupportedAddress)
        /// The datagram was not accepted.
        static let sendFailed = Code(kind: .sendFailed)
        /// A socket unit passes a socket that this program cannot use.
        static let unusableSocket = Code(kind: .unusableSocket)
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

    static func unusableSocket(_ message: String) -> SystemdError { SystemdError(code: .unusableSocket, message: message) }

    /// Whether sending the same message later can succeed.
    var isRetryable: Bool { code == .sendFailed }

    package var description: String { message }
}
