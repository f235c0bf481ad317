import Synchronization
import Systemd

/// The line that `systemctl status` shows: what the daemon does, or what keeps it from that.
final class DaemonStatus: Sendable {
    private struct State {
        /// What the daemon does; nil until it is ready.
        var work: String?
        /// Why each database cannot be used, by the name of its pool.
        var troubles: [String: String] = [:]

        var text: String {
            troubles.isEmpty ? work ?? "starting" : troubles.sorted { $0.key < $1.key }.map(\.value).joined(separator: "; ")
        }
    }

    private let notifier: ServiceNotifier
    private let state = Mutex(State())

    init(_ notifier: ServiceNotifier) {
        self.notifier = notifier
    }

    /// Reports that the daemon is ready for its work.
    func ready(_ work: String) {
        change({ $0.work = work }, notifier.ready)
    }

    /// Reports that the daemon does other work from now on.
    func works(_ work: String) {
        change({ $0.work = work }, notifier.status)
    }

    /// Reports that a database cannot be used, with the reason, or can be used again.
    func changed(_ pool: String, _ trouble: String?) {
        change({ $0.troubles[pool] = trouble }, notifier.status)
    }

    /// Sends the text under the lock, so that the last one that systemd gets is the latest.
    private func change(_ change: (inout State) -> Void, _ send: (String) -> Void) {
        state.withLock { state in
            change(&state)
            send(state.text)
        }
    }
}
