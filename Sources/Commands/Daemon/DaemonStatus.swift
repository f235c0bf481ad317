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
        notifier.ready(status: change { $0.work = work })
    }

    /// Reports that the daemon does other work from now on.
    func works(_ work: String) {
        notifier.status(change { $0.work = work })
    }

    /// Reports that a database cannot be used, with the reason, or can be used again.
    func changed(_ pool: String, _ trouble: String?) {
        notifier.status(change { $0.troubles[pool] = trouble })
    }

    private func change(_ change: (inout State) -> Void) -> String {
        state.withLock { state in
            change(&state)
            return state.text
        }
    }
}
