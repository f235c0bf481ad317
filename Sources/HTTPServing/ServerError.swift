import Glibc
import NIOCore

/// Why a server cannot be set up.
package struct ServerError: Error, CustomStringConvertible {
    /// What kind of failure it is.
    package struct Code: Hashable, Sendable {
        private enum Value {
            case invalidAddress, invalidLimit, cannotListen
        }

        private let value: Value

        /// A listen address cannot be understood.
        package static let invalidAddress = Code(value: .invalidAddress)
        /// A limit is out of its range.
        package static let invalidLimit = Code(value: .invalidLimit)
        /// The operating system does not let the process listen at an address.
        package static let cannotListen = Code(value: .cannotListen)
    }

    /// What kind of failure it is.
    package let code: Code
    /// What is wrong, and where.
    package let message: String
    /// The error of the operating system, when there was one.
    package let cause: (any Error)?

    /// True when the same configuration can work at another time.
    package var isRetryable: Bool { code == .cannotListen }

    package var description: String { message }

    static func invalidAddress(_ text: String, _ problem: String) -> ServerError {
        ServerError(code: .invalidAddress, message: #"listen address "\#(text)": \#(problem)"#, cause: nil)
    }

    /// A limit that makes no sense, and why.
    package static func invalidLimit(_ name: String, _ problem: String) -> ServerError {
        ServerError(code: .invalidLimit, message: "\(name): \(problem)", cause: nil)
    }

    static func cannotListen(_ address: ListenAddress, _ cause: any Error) -> ServerError {
        let isTaken = (cause as? IOError)?.errnoCode == EADDRINUSE
        let reason = isTaken ? "the address is taken, by another process or another listener" : "\(cause)"
        return ServerError(code: .cannotListen, message: "cannot listen at \(address): \(reason)", cause: cause)
    }
}
