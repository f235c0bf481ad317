import CLibPQ
import Glibc

/// Wakes a connection's thread from its wait on the socket. An eventfd, closed in `deinit`.
final class WakeupDescriptor: Sendable {
    let descriptor: Int32

    init() throws(PostgresError) {
        descriptor = clibpq_eventfd_create()
        guard descriptor >= 0 else {
            throw PostgresError(.connectionFailed, "cannot create an eventfd: \(String(cString: strerror(errno)))")
        }
    }

    deinit {
        close(descriptor)
    }

    /// Ends the current or the next wait. A write fails only on a full counter, which already ends the wait.
    func signal() {
        _ = clibpq_eventfd_signal(descriptor)
    }

    /// Clears all signals so far.
    func drain() {
        clibpq_eventfd_drain(descriptor)
    }
}
