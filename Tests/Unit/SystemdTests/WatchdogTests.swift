import Logging
import Synchronization
import SystemdTesting
import Testing

@testable import Systemd

@Suite struct WatchdogTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func `a running loop sends a keep-alive at most every third of the interval`() throws {
        let systemd = try NotificationSocket()
        let clock = ManualClock()
        let watchdog = watchdog(of: systemd, clock)
        let loop = watchdog.loop()
        for _ in 0..<91 {
            loop.beat()
            clock.advance(by: .seconds(1))
        }
        #expect(systemd.messages().count == 10)  // at 0, 10, … 90 seconds of an interval of 30
    }

    @Test func `a running loop does not hide a stuck one`() throws {
        let systemd = try NotificationSocket()
        let clock = ManualClock()
        let watchdog = watchdog(of: systemd, clock)
        let (healthy, stuck) = (watchdog.loop(), watchdog.loop())
        healthy.beat()
        stuck.beat()
        #expect(systemd.messages().count == 1)
        for _ in 0..<60 {
            clock.advance(by: .seconds(1))
            healthy.beat()
        }
        #expect(systemd.messages().count == 0)
        stuck.beat()
        #expect(systemd.messages().count == 1)
    }

    @Test func `keep-alives do not wait for a finished loop`() throws {
        let systemd = try NotificationSocket()
        let clock = ManualClock()
        let watchdog = watchdog(of: systemd, clock)
        let (remaining, finished) = (watchdog.loop(), watchdog.loop())
        finished.finish()
        remaining.beat()
        #expect(systemd.messages().count == 1)
    }

    private func watchdog(of systemd: NotificationSocket, _ clock: ManualClock) -> Watchdog {
        let environment = ["NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "30000000"]
        return Watchdog(notifier: ServiceNotifier(environment: environment, logger: logger), now: { clock.instant })
    }
}

/// A clock that a test advances.
private final class ManualClock: Sendable {
    private let current = Mutex(ContinuousClock.now)
    var instant: ContinuousClock.Instant { current.withLock { $0 } }
    func advance(by duration: Duration) { current.withLock { $0 += duration } }
}
