import Synchronization

/// Sends keep-alives to systemd's watchdog while the loops of a service make progress.
///
/// There is no timer. A heartbeat sends a keep-alive only when *every* registered loop has beaten since the last one, so that
/// systemd notices a single stuck loop.
package final class Watchdog: Sendable {
    private let notifier: ServiceNotifier
    private let now: @Sendable () -> ContinuousClock.Instant
    private let isWatched: Bool
    private let state: Mutex<WatchdogState>

    /// Does nothing unless systemd watches this process.
    package init(notifier: ServiceNotifier, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
        self.notifier = notifier
        self.now = now
        self.isWatched = notifier.watchdogInterval != nil
        self.state = Mutex(WatchdogState(interval: notifier.watchdogInterval ?? .zero))
    }

    /// Registers a loop, which has to beat at least once per watchdog interval until it finishes.
    package func loop() -> Loop {
        Loop(watchdog: self, id: state.withLock { $0.register() })
    }

    /// A registered loop of the service.
    package struct Loop: Sendable {
        fileprivate let watchdog: Watchdog
        fileprivate let id: Int

        /// Reports an iteration of the loop; cheap enough for every iteration.
        package func beat() { watchdog.beat(id) }

        /// Stops waiting for this loop, which has ended or is idle. Its next beat registers it again.
        package func finish() { watchdog.state.withLock { $0.finish(id) } }
    }

    private func beat(_ id: Int) {
        guard isWatched else { return }
        let instant = now()
        if state.withLock({ $0.beat(id, at: instant) }) == .send { notifier.watchdog() }
    }
}
