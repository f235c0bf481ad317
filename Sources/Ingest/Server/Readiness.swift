import Synchronization

/// Waits until both listeners are bound.
final class Readiness: Sendable {
    private struct State {
        var ports = IngestServer.Ports()
        var missing = 2
    }

    private let state = Mutex(State())
    private let onReady: @Sendable (IngestServer.Ports) async -> Void

    init(_ onReady: @escaping @Sendable (IngestServer.Ports) async -> Void) {
        self.onReady = onReady
    }

    /// The listener for notifications is bound.
    func notifications(_ port: Int?) async {
        await bound { $0.notifications = port }
    }

    /// The listener for health is bound.
    func admin(_ port: Int?) async {
        await bound { $0.admin = port }
    }

    private func bound(_ change: (inout IngestServer.Ports) -> Void) async {
        let complete = state.withLock { state -> IngestServer.Ports? in
            change(&state.ports)
            state.missing -= 1
            return state.missing == 0 ? state.ports : nil
        }
        if let complete { await onReady(complete) }
    }
}
