import Glibc
package import Logging
import Synchronization

/// Tells systemd the state of this service, as `sd_notify(3)` does but without libsystemd.
///
/// Without `NOTIFY_SOCKET` (a terminal, a container) every call does nothing. Only the first failure to send is logged. The service
/// continues, and systemd's own timeouts apply.
package final class ServiceNotifier: Sendable {
    /// The interval in which systemd expects a keep-alive (`WATCHDOG_USEC`); nil when its watchdog does not watch this process.
    let watchdogInterval: Duration?

    private let socket: NotifySocket?
    private let logger: Logger
    private let hasReportedFailure = Atomic(false)

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` from `environment`.
    package init(environment: [String: String], logger: Logger) {
        self.logger = logger
        self.watchdogInterval = Self.watchdogInterval(in: environment, processID: getpid())
        var socket: NotifySocket?
        if let address = environment["NOTIFY_SOCKET"], !address.isEmpty {
            do {
                socket = try NotifySocket(address)
            } catch {
                logger.warning("systemd cannot be notified", metadata: ["error": "\(error)"])
            }
        }
        self.socket = socket
    }

    /// Reports that the service is ready, with a line for `systemctl status`.
    package func ready(status: String) {
        send("READY=1\nSTATUS=\(Self.singleLine(status))", waitingAtMost: 2)
    }

    /// Reports that the service is shutting down, with a line for `systemctl status`.
    package func stopping(status: String) {
        send("STOPPING=1\nSTATUS=\(Self.singleLine(status))", waitingAtMost: 2)
    }

    /// Replaces the line that `systemctl status` shows.
    package func status(_ text: String) {
        send("STATUS=\(Self.singleLine(text))", waitingAtMost: nil)
    }

    /// Tells systemd's watchdog that the service makes progress; does nothing when it does not watch this process.
    package func keepAlive() {
        guard watchdogInterval != nil else { return }
        send("WATCHDOG=1", waitingAtMost: nil)
    }

    /// How often to call ``keepAlive()``: so often that one call may be lost.
    package var keepAlivePause: Duration { min(.seconds(5), (watchdogInterval ?? .seconds(15)) / 3) }

    private func send(_ datagram: String, waitingAtMost seconds: Int?) {
        guard let socket else { return }
        do {
            try socket.send(datagram, waitingAtMost: seconds)
        } catch {
            guard !hasReportedFailure.exchange(true, ordering: .relaxed) else { return }
            logger.warning("systemd was not notified", metadata: ["error": "\(error)"])
        }
    }

    /// A line feed in a status would begin another assignment.
    private static func singleLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }

    static func watchdogInterval(in environment: [String: String], processID: pid_t) -> Duration? {
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init), microseconds > 0 else { return nil }
        if let watched = environment["WATCHDOG_PID"], watched != String(processID) { return nil }
        return .microseconds(microseconds)
    }
}

/// The address of the datagram socket on which systemd listens for the state of a service (`NOTIFY_SOCKET`).
private struct NotifySocket: Sendable {
    private let path: [UInt8]

    /// Accepts an absolute path, or an abstract name that begins with `@`.
    ///
    /// - Throws: ``SystemdError`` when the address is of another kind or longer than `sockaddr_un` can hold.
    init(_ address: String) throws(SystemdError) {
        guard address.hasPrefix("/") || address.hasPrefix("@"), address.utf8.count > 1 else {
            throw SystemdError(code: .unsupportedAddress, message: "NOTIFY_SOCKET is neither an absolute path nor an abstract name")
        }
        var path = Array(address.utf8)
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        guard path.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
            throw SystemdError(code: .unsupportedAddress, message: "NOTIFY_SOCKET is longer than a Unix socket address can be")
        }
        self.path = path
    }

    /// Sends one datagram from a socket of its own, as `sd_notify(3)` does.
    ///
    /// - Parameter waitingAtMost: how long to wait while the receiver's queue is full, in seconds; nil fails at once.
    func send(_ datagram: String, waitingAtMost seconds: Int?) throws(SystemdError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemdError(code: .sendFailed, systemCall: "socket", errorNumber: errno) }
        defer { close(descriptor) }
        if let seconds {
            var limit = timeval(tv_sec: seconds, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        let flags = Int32(MSG_NOSIGNAL | (seconds == nil ? MSG_DONTWAIT : 0))
        let bytes = Array(datagram.utf8)
        var sent: Int
        repeat {
            sent = withAddress { address, length in sendto(descriptor, bytes, bytes.count, flags, address, length) }
        } while sent < 0 && errno == EINTR
        guard sent == bytes.count else { throw SystemdError(code: .sendFailed, systemCall: "sendto", errorNumber: errno) }
    }

    private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int) -> Int {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // The address length delimits an abstract name; a trailing NUL would be part of the name.
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? MemoryLayout<sa_family_t>.size
        let length = offset + path.count + (path.first == 0 ? 0 : 1)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }
}

/// A message to systemd could not be sent, or a socket of systemd cannot be used.
package struct SystemdError: Error, CustomStringConvertible {
    /// The kind of failure.
    fileprivate struct Code: Hashable, Sendable {
        private enum Kind { case unsupportedAddress, sendFailed, unusableSocket }
        private let kind: Kind

        /// `NOTIFY_SOCKET` has an address to which this program cannot send.
        static let unsupportedAddress = Code(kind: .unsupportedAddress)
        /// The datagram was not accepted.
        static let sendFailed = Code(kind: .sendFailed)
        /// A socket unit passes a socket that this program cannot use.
        static let unusableSocket = Code(kind: .unusableSocket)
    }

    fileprivate let code: Code
    let message: String

    fileprivate init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    fileprivate init(code: Code, systemCall: String, errorNumber: CInt) {
        self.init(code: code, message: "\(systemCall): \(String(cString: strerror(errorNumber)))")
    }

    static func unusableSocket(_ message: String) -> SystemdError { SystemdError(code: .unusableSocket, message: message) }

    /// Whether sending the same message later can succeed.
    var isRetryable: Bool { code == .sendFailed }

    package var description: String { message }
}
