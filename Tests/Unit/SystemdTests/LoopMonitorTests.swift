import Synchronization
import Testing

@testable import ServiceSupport

@Suite struct LoopMonitorTests {
    private let clock = ManualClock()

    @Test func `a loop that beats is not stuck, however long it runs`() {
        let monitor = monitor()
        let loop = monitor.loop()
        for _ in 0..<100 {
            clock.advance(by: .seconds(60))
            #expect(!monitor.isStuck)
            loop.beat()
        }
    }

    @Test func `a running loop does not hide a stuck one`() {
        let monitor = monitor()
        let (running, stuck) = (monitor.loop(), monitor.loop())
        clock.advance(by: .seconds(50))
        running.beat()
        #expect(!monitor.isStuck)
        clock.advance(by: .seconds(11))
        running.beat()
        #expect(monitor.isStuck)
        stuck.beat()
        #expect(!monitor.isStuck)
    }

    @Test func `a finished loop is not waited for until it beats again`() {
        let monitor = monitor()
        let loop = monitor.loop()
        loop.finish()
        clock.advance(by: .seconds(100))
        #expect(!monitor.isStuck)
        loop.beat()
        clock.advance(by: .seconds(61))
        #expect(monitor.isStuck)
    }

    private func monitor() -> LoopMonitor { LoopMonitor(limit: .seconds(60), now: { clock.instant }) }
}

/// A clock that a test advances.
private final class ManualClock: Sendable {
    private let current = Mutex(ContinuousClock.now)
    var instant: ContinuousClock.Instant { current.withLock { $0 } }
    func advance(by duration: Duration) { current.withLock { $0 += duration } }
}
