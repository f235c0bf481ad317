import Logging
import Synchronization
import SystemdTesting
import Testing

@testable import ServiceSupport

@Suite struct ServiceNotifierTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test(arguments: NotificationSocket.Kind.allCases)
    func `every state reaches the socket that systemd named`(kind: NotificationSocket.Kind) throws {
        let systemd = try NotificationSocket(kind)
        let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": systemd.address], logger: logger)
        notifier.ready(status: "listening on 127.0.0.1:8080")
        notifier.status("waiting for the database")
        notifier.stopping(status: "draining")
        // A newline in a status cannot begin another assignment.
        notifier.status("a\nMAINPID=1\r\nREADY=1")
        #expect(
            systemd.messages() == [
                "READY=1\nSTATUS=listening on 127.0.0.1:8080", "STATUS=waiting for the database",
                "STOPPING=1\nSTATUS=draining", "STATUS=a MAINPID=1 READY=1",
            ]
        )
    }

    @Test func `the notifier does nothing outside systemd`() {
        let notifier = ServiceNotifier(environment: [:], logger: logger)
        notifier.ready(status: "up")
        notifier.stopping(status: "down")
        #expect(notifier.watchdogInterval == nil)
    }

    @Test(arguments: ["/nonexistent/folder/notify", "vsock:2:1234", "/" + String(repeating: "x", count: 200)])
    func `an unreachable socket is reported once, and the service continues`(address: String) {
        let log = CountingLog()
        let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": address], logger: Logger(label: "test") { _ in log })
        notifier.ready(status: "up")
        notifier.status("still up")
        #expect(log.count == 1)
    }

    @Test func `a keep-alive is sent only to a watchdog that watches this process`() throws {
        let systemd = try NotificationSocket()
        let watched = ["NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "30000000"]
        ServiceNotifier(environment: watched, logger: logger).keepAlive()
        #expect(systemd.messages() == ["WATCHDOG=1"])
        ServiceNotifier(environment: watched.merging(["WATCHDOG_PID": "1"]) { $1 }, logger: logger).keepAlive()
        ServiceNotifier(environment: ["NOTIFY_SOCKET": systemd.address], logger: logger).keepAlive()
        #expect(systemd.messages() == [])
    }

    @Test(arguments: [(nil, 5.0), ("30000000", 5.0), ("6000000", 2.0)])
    func `a keep-alive may be lost`(interval: String?, seconds: Double) {
        let notifier = ServiceNotifier(environment: interval.map { ["WATCHDOG_USEC": $0] } ?? [:], logger: logger)
        #expect(notifier.keepAlivePause == .seconds(seconds))
    }

    @Test func `the watchdog counts only for the process that systemd watches`() {
        let interval = { ServiceNotifier.watchdogInterval(in: $0, processID: 42) }
        #expect(interval(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"]) == nil)
        #expect(interval(["WATCHDOG_USEC": "0"]) == nil)
        #expect(interval(["WATCHDOG_USEC": "soon"]) == nil)
        #expect(interval([:]) == nil)
    }
}

/// Counts log events.
private final class CountingLog: LogHandler {
    private let records = Mutex(0)
    var count: Int { records.withLock { $0 } }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }
    func log(event: LogEvent) { records.withLock { $0 += 1 } }
}
