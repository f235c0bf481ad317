import CLibPQ
import Glibc

/// Waits in poll(2) for a connection's socket or its wakeup descriptor.
enum SocketPoll {
    enum Event {
        case socket
        case wakeup
        case deadline
    }

    /// Blocks the calling thread. Reports a wakeup before socket events, and drains it.
    ///
    /// - Parameter writes: Whether a writable socket ends the wait too.
    static func wait(
        socket: Int32,
        wakeup: WakeupDescriptor,
        writes: Bool,
        until deadline: ContinuousClock.Instant?
    ) throws(PostgresError) -> Event {
        let interest = Int16(POLLIN) | (writes ? Int16(POLLOUT) : 0)
        while true {
            var entries = [
                pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: socket, events: interest, revents: 0),
            ]
            let ready = poll(&entries, nfds_t(entries.count), milliseconds(until: deadline))
            if ready < 0 && errno == EINTR { continue }
            guard ready >= 0 else {
                throw PostgresError(.connectionLost, "poll failed: \(String(cString: strerror(errno)))")
            }
            if entries[0].revents != 0 {
                wakeup.drain()
                return .wakeup
            }
            if entries[1].revents != 0 { return .socket }
            if let deadline, ContinuousClock.now >= deadline { return .deadline }
        }
    }

    /// Whether input, or the end of the stream, can be read without blocking.
    static func isReadable(_ socket: Int32) -> Bool {
        var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) != 0
    }

    /// Rounded up, so that the wait does not spin in its last millisecond.
    private static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let remaining = deadline - ContinuousClock.now
        guard remaining > .zero else { return 0 }
        let (seconds, attoseconds) = remaining.components
        let milliseconds = min(seconds, 1_000_000) * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: milliseconds)
    }
}

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
