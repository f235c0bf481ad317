/// The state of an intake together with the tasks that wait for it to change.
struct IntakeMailbox {
    typealias Instant = ContinuousClock.Instant

    /// Somebody who waits and what he is to be told, once the lock is released.
    enum Wakeup {
        case lane(CheckedContinuation<IntakeState.Batch?, Never>, IntakeState.Batch?)
        case timer(CheckedContinuation<Instant?, Never>, Instant?)
        case sender(Intake.Sender, Result<Int64, IntakeError>)
        case reader(CheckedContinuation<Void, any Error>, Result<Void, any Error>)

        func deliver() {
            switch self {
            case .lane(let continuation, let batch): continuation.resume(returning: batch)
            case .timer(let continuation, let instant): continuation.resume(returning: instant)
            case .sender(let sender, let result): sender(result)
            case .reader(let continuation, let result): continuation.resume(with: result)
            }
        }
    }

    var state: IntakeState
    /// Lanes without a batch.
    var idleLanes: [CheckedContinuation<IntakeState.Batch?, Never>] = []
    /// The linger timer, while it has nothing to wait for.
    var idleTimer: CheckedContinuation<Instant?, Never>?
    /// The prober, while the database answers and nobody asks.
    var idleProber: CheckedContinuation<Instant?, Never>?
    /// The senders of bodies that wait or are in flight.
    var senders: [UInt64: Intake.Sender] = [:]
    /// Those who want to know whether the database takes bodies.
    var readers: [CheckedContinuation<Void, any Error>] = []
    var wakeups: [Wakeup] = []

    /// Tells a sender what became of its body.
    mutating func answer(_ id: UInt64, _ result: Result<Int64, IntakeError>) {
        guard let sender = senders.removeValue(forKey: id) else { return }
        wakeups.append(.sender(sender, result))
    }

    /// Tells everyone who asked whether the database takes bodies.
    mutating func answerReaders(_ result: Result<Void, any Error>) {
        wakeups += readers.map { .reader($0, result) }
        readers.removeAll()
    }

    /// Hands work to whoever is idle, and answers who has to be woken.
    mutating func takeWakeups(now: Instant) -> [Wakeup] {
        startBatches(now: now)
        startProbe(now: now)
        if state.isFinished { finish() }
        defer { wakeups.removeAll() }
        return wakeups
    }

    private mutating func startBatches(now: Instant) {
        while let lane = idleLanes.last {
            switch state.dispatch(now: now) {
            case .nothing:
                return
            case .send(let batch):
                idleLanes.removeLast()
                wakeups.append(.lane(lane, batch))
            case .linger(let due):
                guard let timer = idleTimer else { return }
                idleTimer = nil
                wakeups.append(.timer(timer, due))
                return
            }
        }
    }

    private mutating func startProbe(now: Instant) {
        guard let prober = idleProber else { return }
        switch state.phase {
        case .unavailable(let probeAt): wakeups.append(.timer(prober, probeAt))
        case .open where !readers.isEmpty: wakeups.append(.timer(prober, now))
        case .open, .draining: return
        }
        idleProber = nil
    }

    private mutating func finish() {
        wakeups += idleLanes.map { .lane($0, nil) }
        wakeups += [idleTimer, idleProber].compactMap(\.self).map { .timer($0, nil) }
        idleLanes.removeAll()
        idleTimer = nil
        idleProber = nil
        answerReaders(.failure(IntakeError(.shuttingDown)))
    }
}
