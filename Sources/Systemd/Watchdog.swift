import Synchronization

/// Passes the heartbeats of a service's loops on to systemd's watchdog.
///
/// There is no timer: a sign of life goes out only while a loop really goes round, and only when *every* registered
/// loop has gone round since the last one. So one stuck loop is noticed although the others are well.
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

    /// Registers a loop that from now on has to beat, at least once per watchdog interval, until it finishes.
    package func loop() -> Loop {
        Loop(watchdog: self, id: state.withLock { $0.register() })
    }

    /// One loop of the service.
    package struct Loop: Sendable {
        fileprivate let watchdog: Watchdog
        fileprivate let id: Int

        /// Says that the loop goes round; cheap enough for every round.
        package func beat() { watchdog.beat(id) }

        /// Says that the loop has ended as it should and is not to be waited for any more.
        package func finish() { watchdog.state.withLock { $0.finish(id) } }
    }

    private func beat(_ id: Int) {
        guard isWatched else { return }
        let instant = now()
        if state.withLock({ $0.beat(id, at: instant) }) == .send { notifier.watchdog() }
    }
}
