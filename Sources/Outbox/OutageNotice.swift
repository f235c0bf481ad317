import Synchronization

/// Whether something is away, so that it is said once by whoever notices first, and not by everyone at each attempt.
final class OutageNotice: Sendable {
    private let isOut = Mutex(false)

    /// Takes note of a failure; true for the first one.
    func began() -> Bool { set(true) }

    /// Takes note of a success; true for the first one after a failure.
    func ended() -> Bool { set(false) }

    private func set(_ value: Bool) -> Bool {
        isOut.withLock { isOut in
            defer { isOut = value }
            return isOut != value
        }
    }
}
