import Synchronization

/// What the proxy does to a connection whose client has just asked for something to last.
enum Strike: Hashable, Sendable {
    /// The server never gets the request, and both sides lose the connection.
    case cutBeforeDelivery
    /// The server carries it out; its answer is thrown away, and both lose the connection.
    case cutAfterDelivery
    /// The same, with the first bytes of the answer.
    case cutInAnswer
    /// A half-open connection: nothing gets through in either direction any more for so long, then it is reset.
    case silence(isDelivered: Bool, Duration)
    /// The answer comes late.
    case delay(Duration)
}

/// Strikes that lie in wait, each for the next connection of a role that asks for something to last.
final class Ambushes: Sendable {
    private let waiting = Mutex<[String: [(Strike, @Sendable () -> Void)]]>([:])

    /// Has the next commit of that role struck; `report` is called when it was.
    func lay(_ strike: Strike, for user: String, report: @escaping @Sendable () -> Void) {
        waiting.withLock { $0[user, default: []].append((strike, report)) }
    }

    /// What happens now to a connection of that role.
    func spring(for user: String) -> Strike? {
        let next = waiting.withLock { waiting -> (Strike, @Sendable () -> Void)? in
            guard let first = waiting[user]?.first else { return nil }
            waiting[user]?.removeFirst()
            return first
        }
        next?.1()
        return next?.0
    }

    /// Nobody lies in wait any more.
    func clear() {
        waiting.withLock { $0.removeAll() }
    }
}
