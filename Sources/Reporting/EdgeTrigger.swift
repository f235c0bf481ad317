import Synchronization

/// Detects the first failure and the first success after it, so that each is logged once.
package final class EdgeTrigger: Sendable {
    private let isFailing = Mutex(false)

    package init() {}

    /// Records a failure; true for the first one.
    package func began() -> Bool { set(true) }

    /// Records a success; true for the first one after a failure.
    package func ended() -> Bool { set(false) }

    private func set(_ value: Bool) -> Bool {
        isFailing.withLock { isFailing in
            defer { isFailing = value }
            return isFailing != value
        }
    }
}
