import Testing

@testable import Ingest

struct GroupCommitStateTests {
    let start = ContinuousClock.now

    private func state(_ change: (inout GroupCommitter.Configuration) -> Void = { _ in }) -> GroupCommitState {
        var configuration = GroupCommitter.Configuration()
        change(&configuration)
        return GroupCommitState(configuration: configuration)
    }

    private func submission(_ id: UInt64, bytes: Int = 10, source: String = "notification_v2", at: ContinuousClock.Instant)
        -> GroupCommitState.Submission
    {
        GroupCommitState.Submission(id: id, body: [UInt8](repeating: 0, count: bytes), source: source, submittedAt: at)
    }

    @Test func `a single body is sent at once`() throws {
        var state = state()
        try state.submit(submission(1, at: start))
        #expect(state.dispatch(now: start).batch == [1])
        #expect(state.dispatch(now: start).batch == nil)
    }

    @Test func `while a batch is in flight, bodies wait for the linger time of the first`() throws {
        var state = state()
        try state.submit(submission(1, at: start))
        _ = state.dispatch(now: start)
        try state.submit(submission(2, at: start))
        try state.submit(submission(3, at: start + .milliseconds(1)))
        let due = start + state.configuration.linger
        #expect(state.dispatch(now: due - .nanoseconds(1)).due == due)
        #expect(state.dispatch(now: due).batch == [2, 3])
    }

    @Test func `a full batch does not linger`() throws {
        var state = state()
        try state.submit(submission(1, at: start))
        _ = state.dispatch(now: start)
        for id in 2...66 { try state.submit(submission(UInt64(id), at: start)) }
        #expect(state.dispatch(now: start).batch == (2...65).map { UInt64($0) })
        #expect(state.waiting.map(\.id) == [66])
    }

    @Test func `a batch is full when the next body would exceed its bytes`() throws {
        var state = state { $0.maximumBatchBytes = 100 }
        try state.submit(submission(1, at: start))
        _ = state.dispatch(now: start)
        for id in 2...4 { try state.submit(submission(UInt64(id), bytes: 40, at: start)) }
        #expect(state.dispatch(now: start).batch == [2, 3])
        #expect(state.waitingBytes == 40)
    }

    @Test func `a body above the batch limit gets its own batch`() throws {
        var state = state { $0.maximumBatchBytes = 100 }
        try state.submit(submission(1, bytes: 101, at: start))
        try state.submit(submission(2, at: start))
        #expect(state.dispatch(now: start).batch == [1])
    }

    @Test func `the number of batches in flight is limited`() throws {
        var state = state()
        for id in 1...200 { try state.submit(submission(UInt64(id), at: start)) }
        #expect(state.dispatch(now: start).batch?.count == 64)
        #expect(state.dispatch(now: start).batch?.count == 64)
        #expect(state.dispatch(now: start + .seconds(1)).batch == nil)
    }

    @Test func `a batch has one source`() throws {
        var state = state()
        try state.submit(submission(1, source: "notification_v2", at: start))
        try state.submit(submission(2, source: "notification_v1", at: start))
        try state.submit(submission(3, source: "notification_v1", at: start))
        #expect(state.dispatch(now: start).batch == [1])
        #expect(state.dispatch(now: start + .seconds(1)).batch == [2, 3])
    }

    @Test func `a batch collects the bodies of one source and keeps the order of the others`() throws {
        var state = state { ($0.maximumBatchEvents, $0.maximumBatchesInFlight) = (3, 9) }
        for id: UInt64 in 1...8 {
            try state.submit(submission(id, source: id.isMultiple(of: 2) ? "notification_v1" : "notification_v2", at: start))
        }
        let later = start + .seconds(1)
        #expect(state.dispatch(now: later).batch == [1, 3, 5])
        #expect(state.waiting.map(\.id) == [2, 4, 6, 7, 8])
        #expect(state.waitingBytes == 50)
        let second = try #require(state.dispatch(now: later).sent)
        #expect((second.submissions.map(\.id), second.source) == ([2, 4, 6], "notification_v1"))
        #expect(state.dispatch(now: later).batch == [7])
        #expect(state.dispatch(now: later).batch == [8])
        #expect(state.waiting.isEmpty && state.waitingBytes == 0)
    }

    @Test func `smaller bodies of the same source do not overtake a body that does not fit`() throws {
        var state = state { ($0.maximumBatchBytes, $0.maximumBatchesInFlight) = (100, 9) }
        let bodies = [(60, "a"), (60, "b"), (60, "a"), (10, "a"), (10, "b")]
        for (id, body) in bodies.enumerated() { try state.submit(submission(UInt64(id), bytes: body.0, source: body.1, at: start)) }
        let later = start + .seconds(1)
        #expect(state.dispatch(now: later).batch == [0])
        #expect(state.dispatch(now: later).batch == [1, 4])
        #expect(state.dispatch(now: later).batch == [2, 3])
        #expect(state.waitingBytes == 0)
    }

    @Test func `the queue is bounded in events and in bytes`() throws {
        var events = state { $0.maximumWaitingEvents = 2 }
        try events.submit(submission(1, at: start))
        try events.submit(submission(2, at: start))
        #expect(#expect(throws: GroupCommitError.self) { try events.submit(submission(3, at: start)) }?.code == .full)
        #expect(events.dispatch(now: start).batch == [1, 2])
        try events.submit(submission(3, at: start))

        var bytes = state { $0.maximumWaitingBytes = 100 }
        try bytes.submit(submission(1, bytes: 60, at: start))
        #expect(#expect(throws: GroupCommitError.self) { try bytes.submit(submission(2, bytes: 41, at: start)) }?.code == .full)
        try bytes.submit(submission(2, bytes: 40, at: start))
    }

    @Test func `after a failure all bodies are refused until the database answers`() throws {
        var state = state()
        try state.submit(submission(1, at: start))
        let sent = try #require(state.dispatch(now: start).sent)
        try state.submit(submission(2, at: start))
        let probeAt = start + .seconds(3)
        #expect(state.batchFailed(sent, probeAt: probeAt) == [2])
        let refusal = #expect(throws: GroupCommitError.self) { try state.submit(submission(3, at: start + .seconds(1))) }
        #expect(refusal?.code == .unavailable)
        #expect(refusal?.retryAfter == .seconds(2))
        #expect(refusal?.isRetryable == true)
        state.databaseAnswered(now: start)
        try state.submit(submission(3, at: start))
    }

    @Test func `a batch that fails without a probe time does not affect the others`() throws {
        var state = state()
        try state.submit(submission(1, at: start))
        let sent = try #require(state.dispatch(now: start).sent)
        try state.submit(submission(2, at: start))
        #expect(state.batchFailed(sent, probeAt: nil) == [])
        #expect(state.dispatch(now: start).batch == [2])
    }

    @Test func `a draining committer sends waiting bodies without lingering and refuses new ones`() throws {
        var state = state()
        try state.submit(submission(1, at: start))
        let first = try #require(state.dispatch(now: start).sent)
        try state.submit(submission(2, at: start))
        state.drain()
        #expect(#expect(throws: GroupCommitError.self) { try state.submit(submission(3, at: start)) }?.code == .shuttingDown)
        let second = try #require(state.dispatch(now: start).sent)
        #expect(second.submissions.map(\.id) == [2])
        state.batchCommitted(first, now: start)
        #expect(!state.isFinished)
        state.batchCommitted(second, now: start)
        #expect(state.isFinished)
    }

    @Test func `a recent commit proves readiness, an old one does not`() throws {
        var state = state()
        #expect(state.readiness(now: start) == nil)
        state.databaseAnswered(now: start)
        #expect(throws: Never.self) { try state.readiness(now: start + .milliseconds(999))?.get() }
        #expect(state.readiness(now: start + .milliseconds(999)) != nil)
        #expect(state.readiness(now: start + .seconds(1)) == nil)
        _ = state.databaseFailed(probeAt: start + .seconds(5))
        #expect(throws: GroupCommitError.self) { try state.readiness(now: start)?.get() }
    }

    @Test func `a batch in flight for longer than every timeout means that the committer is stuck`() throws {
        var state = state()
        try state.submit(submission(1, at: start))
        _ = state.dispatch(now: start)
        #expect(!state.isStuck(now: start + .seconds(30)))
        #expect(state.isStuck(now: start + .seconds(31)))
    }
}

extension GroupCommitState.Dispatch {
    var sent: GroupCommitState.Batch? {
        if case .send(let batch) = self { batch } else { nil }
    }

    var batch: [UInt64]? { sent?.submissions.map(\.id) }

    var due: ContinuousClock.Instant? {
        if case .linger(let due) = self { due } else { nil }
    }
}
