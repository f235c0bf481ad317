/// What an intake knows, and its decisions: when a batch leaves, who is refused, when the database is probed.
///
/// It waits for nothing and reads no clock: `Intake` tells it what happened and does what it answers.
struct IntakeState {
    typealias Instant = ContinuousClock.Instant

    struct Submission {
        let id: UInt64
        let body: [UInt8]
        let source: String
        let submittedAt: Instant
    }

    struct Batch {
        let submissions: [Submission]
        let startedAt: Instant

        var source: String { submissions.first?.source ?? "" }
    }

    enum Phase {
        /// Bodies are taken. Can transition to: unavailable, draining.
        case open
        /// The database did not take a batch. Can transition to: open, draining.
        case unavailable(probeAt: Instant)
        /// Nothing new is taken, what waits is committed. It is the last phase.
        case draining
    }

    enum Dispatch {
        case nothing
        case send(Batch)
        case linger(until: Instant)
    }

    let configuration: Intake.Configuration
    private(set) var phase = Phase.open
    private(set) var waiting: [Submission] = []
    private(set) var waitingBytes = 0
    /// When each batch in flight was started, by the first submission in it.
    private(set) var inFlight: [UInt64: Instant] = [:]
    private(set) var lastConfirmed: Instant?

    init(configuration: Intake.Configuration) {
        self.configuration = configuration
    }

    var isDraining: Bool {
        if case .draining = phase { true } else { false }
    }

    /// True when nothing is left to do and nothing new can come.
    var isFinished: Bool { isDraining && waiting.isEmpty && inFlight.isEmpty }

    /// Takes a body into the queue.
    ///
    /// - Throws: why not.
    mutating func submit(_ submission: Submission) throws(IntakeError) {
        switch phase {
        case .draining: throw IntakeError(.shuttingDown)
        case .unavailable(let probeAt): throw IntakeError(.unavailable, retryAfter: max(probeAt - submission.submittedAt, .zero))
        case .open: break
        }
        let bytes = waitingBytes + submission.body.count
        let fits = waiting.count < configuration.maximumWaitingEvents && bytes <= configuration.maximumWaitingBytes
        guard fits || waiting.isEmpty else { throw IntakeError(.full) }
        waiting.append(submission)
        waitingBytes = bytes
    }

    /// Decides whether a free lane sends a batch now.
    ///
    /// A body alone leaves at once. While a batch is being committed, bodies gather until a batch is full or the first of them has lingered.
    mutating func dispatch(now: Instant) -> Dispatch {
        guard let first = waiting.first, inFlight.count < configuration.maximumBatchesInFlight else { return .nothing }
        let due = first.submittedAt + configuration.linger
        guard inFlight.isEmpty || isFull || isDraining || now >= due else { return .linger(until: due) }
        return .send(takeBatch(from: first, now: now))
    }

    private var isFull: Bool {
        waiting.count >= configuration.maximumBatchEvents || waitingBytes >= configuration.maximumBatchBytes
    }

    /// A batch has one source, that of the body that waits longest; bodies of others keep their places.
    private mutating func takeBatch(from first: Submission, now: Instant) -> Batch {
        var (taken, passed): ([Submission], [Submission]) = ([], [])
        var bytes = 0
        for submission in waiting {
            guard taken.count < configuration.maximumBatchEvents else { break }
            guard submission.source == first.source else {
                passed.append(submission)
                continue
            }
            bytes += submission.body.count
            guard bytes <= configuration.maximumBatchBytes || submission.id == first.id else { break }
            taken.append(submission)
        }
        let batch = Batch(submissions: taken, startedAt: now)
        waiting.replaceSubrange(..<(taken.count + passed.count), with: passed)
        waitingBytes -= batch.submissions.reduce(0) { $0 + $1.body.count }
        inFlight[first.id] = now
        return batch
    }

    /// Records a confirmed commit.
    mutating func batchCommitted(_ batch: Batch, now: Instant) {
        forget(batch)
        databaseAnswered(now: now)
    }

    /// Records a batch that was not confirmed, and answers whose bodies must not wait any longer.
    ///
    /// - Parameter probeAt: when to look at the database again, or nil when only this batch was unlucky.
    mutating func batchFailed(_ batch: Batch, probeAt: Instant?) -> [UInt64] {
        forget(batch)
        guard let probeAt else { return [] }
        return databaseFailed(probeAt: probeAt)
    }

    /// Records a probe that succeeded or a commit.
    mutating func databaseAnswered(now: Instant) {
        lastConfirmed = now
        if case .unavailable = phase { phase = .open }
    }

    /// Records that the database takes nothing, and answers whose bodies must not wait any longer.
    mutating func databaseFailed(probeAt: Instant) -> [UInt64] {
        lastConfirmed = nil
        if !isDraining { phase = .unavailable(probeAt: probeAt) }
        return failWaiting()
    }

    /// Takes nothing new from now on.
    mutating func drain() {
        phase = .draining
    }

    /// Drops every body that waits, and answers whose they were.
    mutating func failWaiting() -> [UInt64] {
        defer {
            waiting.removeAll()
            waitingBytes = 0
        }
        return waiting.map(\.id)
    }

    /// Whether the database is known to take bodies; nil means that only a probe can tell.
    func readiness(now: Instant) -> Result<Void, IntakeError>? {
        switch phase {
        case .draining: return .failure(IntakeError(.shuttingDown))
        case .unavailable(let probeAt): return .failure(IntakeError(.unavailable, retryAfter: max(probeAt - now, .zero)))
        case .open: break
        }
        guard let lastConfirmed, now - lastConfirmed < configuration.readinessFreshness else { return nil }
        return .success(())
    }

    /// True when a batch has been in flight for longer than any time-out allows.
    func isStuck(now: Instant) -> Bool {
        inFlight.values.contains { now - $0 > configuration.commitTimeout * 3 }
    }

    private mutating func forget(_ batch: Batch) {
        guard let first = batch.submissions.first else { return }
        inFlight[first.id] = nil
    }
}
