import Synchronization

/// Waits until several listeners are bound.
package final class Readiness<Listener: Hashable & Sendable>: Sendable {
    /// The ports that were bound; nil for a Unix socket.
    package typealias Ports = [Listener: Int?]

    private struct State {
        var ports: Ports = [:]
        var missing: Set<Listener>
    }

    private let state: Mutex<State>
    private let onReady: @Sendable (Ports) async -> Void

    /// - Parameter onReady: called once, when all `listeners` are bound.
    package init(_ listeners: Set<Listener>, onReady: @escaping @Sendable (Ports) async -> Void) {
        state = Mutex(State(missing: listeners))
        self.onReady = onReady
    }

    /// Records that a listener is bound.
    package func bound(_ listener: Listener, to port: Int?) async {
        let complete = state.withLock { state -> Ports? in
            state.ports.updateValue(port, forKey: listener)
            guard state.missing.remove(listener) != nil, state.missing.isEmpty else { return nil }
            return state.ports
        }
        if let complete { await onReady(complete) }
    }
}
