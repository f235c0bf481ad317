import Glibc
import NIOCore

/// Why a server cannot start.
package struct ServerError: Error, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Hashable, Sendable {
        private enum Value {
            case invalidAddress, invalidLimit, cannotListen
        }

        private let value: Value

        /// A listen address is invalid.
        package static let invalidAddress = Code(value: .invalidAddress)
        /// A limit is out of its range.
        package static let invalidLimit = Code(value: .invalidLimit)
        /// The operating system does not let the process listen at an address.
        package static let cannotListen = Code(value: .cannotListen)
    }

    /// The kind of failure.
    package let code: Code
    /// What is wrong and where.
    package let message: String
    /// The error of the operating system, if there is one.
    package let cause: (any Error)?

    /// True when the same configuration may work later.
    package var isRetryable: Bool { code == .cannotListen }

    package var description: String { message }

    static func invalidAddress(_ text: String, _ problem: String) -> ServerError {
        ServerError(code: .invalidAddress, message: #"listen address "\#(text)": \#(problem)"#, cause: nil)
    }

    /// A limit is invalid, with the reason.
    package static func invalidLimit(_ name: String, _ problem: String) -> ServerError {
        ServerError(code: .invalidLimit, message: "\(name): \(problem)", cause: nil)
    }

    static func cannotListen(_ address: ListenAddress, _ cause: any Error) -> ServerError {
        let isTaken = (cause as? IOError)?.errnoCode == EADDRINUSE
        let reason = isTaken ? "the address is taken, by another process or another listener" : "\(cause)"
        return ServerError(code: .cannotListen, message: "cannot listen at \(address): \(reason)", cause: cause)
    }
}
