/// The state machine of a group committer: decides when a batch is sent, which bodies are refused, and when the database is probed.
///
/// It does no I/O and reads no clock: `GroupCommitter` reports events to it and carries out its decisions.
struct GroupCommitState {
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
        /// Accepts bodies. Can transition to: unavailable, draining.
        case open
        /// A batch failed: refuses bodies until a probe or a commit succeeds. Can transition to: open, draining.
        case unavailable(probeAt: Instant)
        /// Refuses new bodies and commits the waiting ones. Final.
        case draining
    }

    enum Dispatch {
        case nothing
        case send(Batch)
        case linger(until: Instant)
    }

    let configuration: GroupCommitter.Configuration
    private(set) var phase = Phase.open
    private(set) var waiting: [Submission] = []
    private(set) var waitingBytes = 0
    /// Start of each batch in flight, by the id of its first submission.
    private(set) var inFlight: [UInt64: Instant] = [:]
    private var lastConfirmed: Instant?

    init(configuration: GroupCommitter.Configuration) {
        self.configuration = configuration
    }

    var isDraining: Bool {
        if case .draining = phase { true } else { false }
    }

    /// True when the committer drains and no body is waiting or in flight.
    var isFinished: Bool { isDraining && waiting.isEmpty && inFlight.isEmpty }

    /// Adds a body to the queue.
    ///
    /// - Throws: `GroupCommitError` when the body is refused.
    mutating func submit(_ submission: Submission) throws(GroupCommitError) {
        switch phase {
        case .draining: throw GroupCommitError(.shuttingDown)
        case .unavailable(let probeAt): throw GroupCommitError(.unavailable, retryAfter: max(probeAt - submission.submittedAt, .zero))
        case .open: break
        }
        let bytes = waitingBytes + submission.body.count
        let fits = waiting.count < configuration.maximumWaitingEvents && bytes <= configuration.maximumWaitingBytes
        guard fits || waiting.isEmpty else { throw GroupCommitError(.full) }
        waiting.append(submission)
        waitingBytes = bytes
    }

    /// Decides whether an idle committer sends a batch now.
    ///
    /// Without a batch in flight, a body is sent at once. Otherwise bodies wait until a batch is full or the linger time is over.
    mutating func dispatch(now: Instant) -> Dispatch {
        guard let first = waiting.first, inFlight.count < configuration.maximumBatchesInFlight else { return .nothing }
        let due = first.submittedAt + configuration.linger
        guard inFlight.isEmpty || isFull || isDraining || now >= due else { return .linger(until: due) }
        return .send(takeBatch(from: first, now: now))
    }

    private var isFull: Bool {
        waiting.count >= configuration.maximumBatchEvents || waitingBytes >= configuration.maximumBatchBytes
    }

    /// A batch has one source: that of the oldest waiting body. Bodies of other sources keep their position in the queue.
    private mutating func takeBatch(from first: Submission, now: Instant) -> Batch {
        var (taken, skipped): ([Submission], [Submission]) = ([], [])
        var bytes = 0
        for submission in waiting {
            guard taken.count < configuration.maximumBatchEvents else { break }
            guard submission.source == first.source else {
                skipped.append(submission)
                continue
            }
            bytes += submission.body.count
            guard bytes <= configuration.maximumBatchBytes || submission.id == first.id else { break }
            taken.append(submission)
        }
        let batch = Batch(submissions: taken, startedAt: now)
        waiting.replaceSubrange(..<(taken.count + skipped.count), with: skipped)
        waitingBytes -= batch.submissions.reduce(0) { $0 + $1.body.count }
        inFlight[first.id] = now
        return batch
    }

    /// Records a confirmed commit.
    mutating func batchCommitted(_ batch: Batch, now: Instant) {
        removeFromFlight(batch)
        databaseAnswered(now: now)
    }

    /// Records a batch that was not confirmed, and returns the submissions to refuse.
    ///
    /// - Parameter probeAt: when to probe the database; nil when only this batch failed.
    mutating func batchFailed(_ batch: Batch, probeAt: Instant?) -> [UInt64] {
        removeFromFlight(batch)
        guard let probeAt else { return [] }
        return databaseFailed(probeAt: probeAt)
    }

    /// Records a successful probe or commit.
    mutating func databaseAnswered(now: Instant) {
        lastConfirmed = now
        if case .unavailable = phase { phase = .open }
    }

    /// Records that the database is unavailable, and returns the submissions to refuse.
    mutating func databaseFailed(probeAt: Instant) -> [UInt64] {
        lastConfirmed = nil
        if !isDraining { phase = .unavailable(probeAt: probeAt) }
        return failWaiting()
    }

    /// Refuses new bodies from now on.
    mutating func drain() {
        phase = .draining
    }

    /// Drops all waiting bodies and returns the ids of their submissions.
    mutating func failWaiting() -> [UInt64] {
        defer {
            waiting.removeAll()
            waitingBytes = 0
        }
        return waiting.map(\.id)
    }

    /// Whether the database accepts bodies; nil when only a probe can tell.
    func readiness(now: Instant) -> Result<Void, GroupCommitError>? {
        switch phase {
        case .draining: return .failure(GroupCommitError(.shuttingDown))
        case .unavailable(let probeAt): return .failure(GroupCommitError(.unavailable, retryAfter: max(probeAt - now, .zero)))
        case .open: break
        }
        guard let lastConfirmed, now - lastConfirmed < configuration.readinessFreshness else { return nil }
        return .success(())
    }

    /// True when a batch has been in flight for longer than every timeout allows.
    func isStuck(now: Instant) -> Bool {
        inFlight.values.contains { now - $0 > configuration.commitTimeout * 3 }
    }

    private mutating func removeFromFlight(_ batch: Batch) {
        guard let first = batch.submissions.first else { return }
        inFlight[first.id] = nil
    }
}

/// Why a body was not accepted. The caller must send it again.
package struct GroupCommitError: Error, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value {
            case full, unavailable, notCommitted, shuttingDown, timedOut, incomplete
        }

        private let value: Value

        /// The queue of waiting bodies is full.
        package static let full = Code(value: .full)
        /// The latest batch failed, and no probe has succeeded since.
        package static let unavailable = Code(value: .unavailable)
        /// The commit of the batch with this body was not confirmed. The body may be stored.
        package static let notCommitted = Code(value: .notCommitted)
        /// The process is shutting down and accepts no more bodies.
        package static let shuttingDown = Code(value: .shuttingDown)

        /// The database did not answer in time; only used as a cause.
        package static let timedOut = Code(value: .timedOut)
        /// The database did not return one event id for each body; only used as a cause.
        package static let incomplete = Code(value: .incomplete)

        package var description: String {
            switch value {
            case .full: "too many bodies wait"
            case .unavailable: "the database accepts no bodies"
            case .notCommitted: "the commit is not confirmed"
            case .shuttingDown: "the process shuts down"
            case .timedOut: "the database did not answer in time"
            case .incomplete: "the database did not store each body"
            }
        }
    }

    /// The kind of failure.
    package let code: Code
    /// How long the caller should wait before it tries again.
    package let retryAfter: Duration
    /// The error from the database, if there is one.
    package let cause: (any Error)?

    /// Always true: a body is never refused because of its content.
    package var isRetryable: Bool { true }

    package var description: String {
        guard let cause else { return "\(code)" }
        return "\(code): \(cause)"
    }

    init(_ code: Code, retryAfter: Duration = .seconds(1), cause: (any Error)? = nil) {
        self.code = code
        self.retryAfter = retryAfter
        self.cause = cause
    }
}
