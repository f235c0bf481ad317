import CLibPQ
import Glibc

/// Wakes a connection's thread from its wait on the socket: an eventfd, closed when the last holder lets go.
final class Bell: Sendable {
    let descriptor: Int32

    init() throws(PostgresError) {
        descriptor = clibpq_eventfd_create()
        guard descriptor >= 0 else {
            throw PostgresError(.connectionFailed, "no eventfd could be made: \(String(cString: strerror(errno)))")
        }
    }

    deinit {
        close(descriptor)
    }

    /// Ends the present or the next wait. A full counter (2^64 rings) has rung already, so a refused write loses nothing.
    func ring() {
        _ = clibpq_eventfd_signal(descriptor)
    }

    /// Takes note of all rings so far.
    func drain() {
        clibpq_eventfd_drain(descriptor)
    }
}
