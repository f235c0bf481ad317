import Postgres

/// How a batch claims events and reads their bodies.
extension InboxQueue {
    /// Takes events off the queue, without what the inbox has of them.
    func claim(_ batch: Batch, in transaction: Transaction) async throws -> [ClaimedEvent] {
        guard batch.kind == .company else {
            return try ClaimedBatch.suspects(await transaction.query(ClaimedBatch.claimSuspect(lane: batch.lane)))
        }
        var start = memory.nextClaim()
        if let look = start.look, start.position == .start {
            let begun = ContinuousClock.now
            memory.observe(try ClaimedBatch.probe(await transaction.query(ClaimedBatch.probe(look)), look), after: .now - begun)
            start = memory.claimAfterLook()
        }
        let events = try await claim(batch, from: start, in: transaction)
        guard events.isEmpty, start.isContinuation else { return events }
        return try await claim(batch, from: QueueMemory.ClaimStart(position: memory.mark), in: transaction)
    }

    private func claim(_ batch: Batch, from start: QueueMemory.ClaimStart, in transaction: Transaction) async throws -> [ClaimedEvent] {
        let claim = ClaimedBatch.claim(limit: batch.limit, bytes: configuration.batchBytes, from: start.position, lane: batch.lane)
        let rows: Rows
        if let look = start.look {
            let begun = ContinuousClock.now
            // The snapshot of the look, which is the older one, and the time after it.
            let answers = try await transaction.pipeline([ClaimedBatch.probe(look), claim])
            memory.observe(try ClaimedBatch.probe(answers[0], look), after: .now - begun)
            rows = answers[1]
        } else {
            rows = try await transaction.query(claim)
        }
        memory.claimed(rows.count, upTo: rows.count < batch.limit ? nil : try ClaimedBatch.end(rows))
        return try ClaimedBatch.events(rows)
    }

    /// Marks claimed events, and reads what the inbox has of them: in company at the same time. A suspect is marked only when it can run: it
    /// is not claimed again for as long as it has a marker.
    ///
    /// - Parameter bound: How long each later statement may take, where others run beside the batch.
    /// - Returns: Those whose body is there; the others are let go with the transaction.
    func markAndRead(
        _ keys: [ClaimedEvent],
        for work: inout Work,
        of batch: Batch,
        bound: Duration,
        in transaction: Transaction
    ) async throws -> [ClaimedEvent] {
        guard !keys.isEmpty else { return [] }
        guard batch.kind == .company else {
            let (events, unreadable) = try await read(keys, timeouts: nil, in: transaction)
            work.unreadable = unreadable
            if !events.isEmpty { try await markers.mark(events, lane: batch.lane, isSuspect: true) }
            return events
        }
        async let marked: Void = markers.mark(keys, lane: batch.lane, isSuspect: false)
        let outcome: Result<(events: [ClaimedEvent], unreadable: [Unreadable]), any Error>
        do {
            outcome = .success(try await read(keys, timeouts: ClaimedBatch.Timeouts(statement: bound), in: transaction))
        } catch {
            // Not thrown before the marker is written: that would cancel it, and close the connection that all markers share.
            outcome = .failure(error)
        }
        try await marked
        let (events, unreadable) = try outcome.get()
        work.unreadable = unreadable
        return events
    }
}
