import Glibc
import NIOCore

/// Why a server cannot start or go on.
package struct ServerError: Error, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Hashable, Sendable {
        private enum Value {
            case invalidAddress, invalidLimit, cannotListen, stopped
        }

        private let value: Value

        /// A listen address is invalid.
        package static let invalidAddress = Code(value: .invalidAddress)
        /// A limit is out of its range.
        package static let invalidLimit = Code(value: .invalidLimit)
        /// The operating system does not let the process listen at an address.
        package static let cannotListen = Code(value: .cannotListen)
        /// A listening socket was closed while it should serve.
        package static let stopped = Code(value: .stopped)
    }

    /// The kind of failure.
    package let code: Code
    /// What is wrong and where.
    package let message: String
    /// The address that cannot be served, if the error is about one.
    package var address: ListenAddress?
    /// The error of the operating system, if there is one.
    package var cause: (any Error)?

    package var description: String { message }

    static func invalidAddress(_ text: String, _ problem: String) -> ServerError {
        ServerError(code: .invalidAddress, message: #"listen address "\#(text)": \#(problem)"#)
    }

    /// A limit is invalid, with the reason.
    package static func invalidLimit(_ name: String, _ problem: String) -> ServerError {
        ServerError(code: .invalidLimit, message: "\(name): \(problem)")
    }

    static func stopped(_ address: ListenAddress) -> ServerError {
        ServerError(code: .stopped, message: "the listening socket at \(address) was closed", address: address)
    }

    static func cannotListen(_ address: ListenAddress, _ cause: any Error) -> ServerError {
        let message = "cannot listen at \(address): \(reason(cause, isUnix: address.isUnix))"
        return ServerError(code: .cannotListen, message: message, address: address, cause: cause)
    }

    private static func reason(_ cause: any Error, isUnix: Bool) -> String {
        if let unknown = cause as? SocketAddressError.UnknownHost {
            return "the host name cannot be resolved (\(unknown.errorDescription))"
        }
        guard let code = (cause as? IOError)?.errnoCode else { return "\(cause)" }
        return switch code {
        case EADDRINUSE: "the address is taken, by another process or another listener"
        case EADDRNOTAVAIL: "no network interface of this machine has the address"
        case EACCES where isUnix, EPERM where isUnix: "the process may not write to the folder"
        case EACCES, EPERM: "permission denied; a port below 1024 needs CAP_NET_BIND_SERVICE"
        case ENOENT where isUnix: "the folder does not exist"
        default: String(cString: strerror(code))
        }
    }
}
