import Glibc
import NIOCore
import NIOPosix

/// The address of a listener: `host:port`, `[::1]:8080` or `unix:/run/appstore-inbox/ingest.sock`.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: Hashable {
        case tcp(host: String, port: Int)
        case unix(path: String)
        case inherited(descriptor: CInt, address: String)
    }

    private let kind: Kind

    /// A TCP address. Port 0 selects any free port.
    package static func tcp(host: String, port: UInt16) -> ListenAddress {
        ListenAddress(kind: .tcp(host: host, port: Int(port)))
    }

    /// A socket that another process opened, such as systemd.
    ///
    /// - Parameter address: where it listens.
    package static func inherited(descriptor: CInt, address: String) -> ListenAddress {
        ListenAddress(kind: .inherited(descriptor: descriptor, address: address))
    }

    /// Parses an address.
    ///
    /// - Throws: `ServerError` for an invalid address.
    package init(_ text: String) throws(ServerError) {
        if text.hasPrefix("unix:") {
            kind = .unix(path: try Self.path(text.dropFirst(5), in: text))
        } else {
            guard let colon = text.lastIndex(of: ":") else { throw .invalidAddress(text, "it has no port: write host:port") }
            let port = text[text.index(after: colon)...]
            guard let number = UInt16(port), port.allSatisfy(\.isWholeNumber) else {
                throw .invalidAddress(text, "the port is not a number from 0 to 65535")
            }
            kind = .tcp(host: try Self.host(text[..<colon], in: text), port: Int(number))
        }
    }

    private init(kind: Kind) {
        self.kind = kind
    }

    package var description: String {
        switch kind {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        case .inherited(_, let address): address
        }
    }

    /// The port of a TCP address; 0 where the operating system chooses it, nil for a socket that has none or is inherited.
    package var port: Int? {
        if case .tcp(_, let port) = kind { port } else { nil }
    }

    /// True when the operating system chooses the port.
    package var isAnyPort: Bool {
        if case .tcp(_, port: 0) = kind { true } else { false }
    }

    /// The address with the port that was bound; the same for a Unix socket.
    package func with(port: Int?) -> ListenAddress {
        guard case .tcp(let host, _) = kind, let port else { return self }
        return ListenAddress(kind: .tcp(host: host, port: port))
    }

    /// True for a TCP address that only this machine reaches.
    package var isLoopback: Bool {
        guard case .tcp(let host, _) = kind else { return false }
        return host == "localhost" || host == "::1" || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
    }

    /// True for a Unix socket.
    package var isUnix: Bool {
        switch kind {
        case .tcp: false
        case .unix: true
        case .inherited(_, let address): address.hasPrefix("unix:")
        }
    }

    /// Where a client on this machine reaches the listener.
    package enum Reach: Hashable, Sendable {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    /// Nil for an inherited socket, and where the operating system chooses the port.
    package var reach: Reach? {
        switch kind {
        case .unix(let path): .unix(path: path)
        case .tcp(_, port: 0), .inherited: nil
        // A server that listens on all addresses also listens on loopback.
        case .tcp("0.0.0.0", let port): .tcp(host: "127.0.0.1", port: port)
        case .tcp("::", let port): .tcp(host: "::1", port: port)
        case .tcp(let host, let port): .tcp(host: host, port: port)
        }
    }

    /// How many clients wait until the process accepts them. For a socket that is inherited, they also wait while no process accepts.
    private static var backlog: CInt { 4096 }

    /// Opens a listening socket, or takes the inherited one. A socket file that another process left behind is replaced.
    func bind(_ bootstrap: ServerBootstrap) async throws -> any Channel {
        let bootstrap = bootstrap.serverChannelOption(.backlog, value: Self.backlog)
        switch kind {
        case .tcp(let host, let port): return try await bootstrap.bind(host: host, port: port).get()
        case .unix(let path): return try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        case .inherited(let descriptor, _):
            guard listen(descriptor, Self.backlog) == 0 else { throw IOError(errnoCode: errno, reason: "listen") }
            return try await bootstrap.withBoundSocket(descriptor).get()
        }
    }

    private static func path(_ path: Substring, in text: String) throws(ServerError) -> String {
        guard path.hasPrefix("/") else { throw .invalidAddress(text, "the path of a Unix socket must be absolute") }
        // sockaddr_un.sun_path has 108 bytes, the terminating zero included.
        guard path.utf8.count < 108 else { throw .invalidAddress(text, "the path of a Unix socket may have at most 107 bytes") }
        return String(path)
    }

    private static func host(_ host: Substring, in text: String) throws(ServerError) -> String {
        if host.hasPrefix("["), host.hasSuffix("]"), host.count > 2 { return String(host.dropFirst().dropLast()) }
        guard !host.isEmpty else { throw .invalidAddress(text, "it has no host: write 127.0.0.1 or 0.0.0.0") }
        guard !host.contains(":"), !host.hasPrefix("[") else {
            throw .invalidAddress(text, "an IPv6 address must be in brackets: [::1]:8080")
        }
        return String(host)
    }
}

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
