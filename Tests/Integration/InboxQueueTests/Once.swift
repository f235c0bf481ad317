import Synchronization

/// True for the first who asks.
final class Once: Sendable {
    private let asked = Atomic(false)

    func isFirst() -> Bool { !asked.exchange(true, ordering: .sequentiallyConsistent) }
}
