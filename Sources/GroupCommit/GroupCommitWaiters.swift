/// The state of a group committer, and the continuations of the tasks that wait for it.
struct GroupCommitWaiters {
    typealias Instant = ContinuousClock.Instant

    /// A waiter and its result, delivered after the lock is released.
    enum Wakeup {
        case committer(CheckedContinuation<GroupCommitState.Batch?, Never>, GroupCommitState.Batch?)
        case timer(CheckedContinuation<Instant?, Never>, Instant?)
        case completion(GroupCommitter.Completion, Result<Int64, GroupCommitError>)
        case readiness(CheckedContinuation<Void, any Error>, Result<Void, any Error>)

        func deliver() {
            switch self {
            case .committer(let continuation, let batch): continuation.resume(returning: batch)
            case .timer(let continuation, let instant): continuation.resume(returning: instant)
            case .completion(let completion, let result): completion(result)
            case .readiness(let continuation, let result): continuation.resume(with: result)
            }
        }
    }

    var state: GroupCommitState
    /// Committers without a batch.
    var idleCommitters: [CheckedContinuation<GroupCommitState.Batch?, Never>] = []
    /// The linger timer, while it has no deadline.
    var idleTimer: CheckedContinuation<Instant?, Never>?
    /// The prober, while no probe is due.
    var idleProber: CheckedContinuation<Instant?, Never>?
    /// The completions of submissions that are waiting or in flight.
    var completions: [UInt64: GroupCommitter.Completion] = [:]
    /// The readiness checks that wait for a probe.
    var readinessChecks: [CheckedContinuation<Void, any Error>] = []
    var wakeups: [Wakeup] = []

    /// Completes a submission.
    mutating func answer(_ id: UInt64, _ result: Result<Int64, GroupCommitError>) {
        guard let completion = completions.removeValue(forKey: id) else { return }
        wakeups.append(.completion(completion, result))
    }

    /// Completes all waiting readiness checks.
    mutating func answerReadiness(_ result: Result<Void, any Error>) {
        wakeups += readinessChecks.map { .readiness($0, result) }
        readinessChecks.removeAll()
    }

    /// Gives due work to idle tasks and returns the continuations to resume.
    mutating func takeWakeups(now: Instant) -> [Wakeup] {
        startBatches(now: now)
        startProbe(now: now)
        if state.isFinished { finish() }
        defer { wakeups.removeAll() }
        return wakeups
    }

    private mutating func startBatches(now: Instant) {
        while let committer = idleCommitters.last {
            switch state.dispatch(now: now) {
            case .nothing:
                return
            case .send(let batch):
                idleCommitters.removeLast()
                wakeups.append(.committer(committer, batch))
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
        case .open where !readinessChecks.isEmpty: wakeups.append(.timer(prober, now))
        case .open, .draining: return
        }
        idleProber = nil
    }

    private mutating func finish() {
        wakeups += idleCommitters.map { .committer($0, nil) }
        wakeups += [idleTimer, idleProber].compactMap(\.self).map { .timer($0, nil) }
        idleCommitters.removeAll()
        idleTimer = nil
        idleProber = nil
        answerReadiness(.failure(GroupCommitError(.shuttingDown)))
    }
}
