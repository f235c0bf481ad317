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
