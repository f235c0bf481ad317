import Synchronization

/// What the proxy does to a connection whose client has just asked for a commit.
enum CommitFault: Hashable, Sendable {
    /// The server never receives the request, and both sides lose the connection.
    case cutBeforeDelivery
    /// The server commits; its answer is dropped, and both sides lose the connection.
    case cutAfterDelivery
    /// The same, but the client receives the first bytes of the answer.
    case cutInAnswer
    /// A half-open connection: no bytes pass in either direction for the duration, then it is reset.
    case silence(isDelivered: Bool, Duration)
    /// The answer arrives late.
    case delay(Duration)
}

/// Faults that wait, by role, for the next connection that asks for a commit.
final class ScheduledFaults: Sendable {
    private let waiting = Mutex<[String: [(CommitFault, @Sendable () -> Void)]]>([:])

    /// Schedules a fault for the role's next commit; `report` is called when it takes effect.
    func schedule(_ fault: CommitFault, for user: String, report: @escaping @Sendable () -> Void) {
        waiting.withLock { $0[user, default: []].append((fault, report)) }
    }

    /// Removes and returns the fault for a commit of the role.
    func next(for user: String) -> CommitFault? {
        let next = waiting.withLock { waiting -> (CommitFault, @Sendable () -> Void)? in
            guard let first = waiting[user]?.first else { return nil }
            waiting[user]?.removeFirst()
            return first
        }
        next?.1()
        return next?.0
    }

    /// Removes all scheduled faults.
    func clear() {
        waiting.withLock { $0.removeAll() }
    }
}
