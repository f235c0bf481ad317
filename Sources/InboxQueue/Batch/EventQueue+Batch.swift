import Postgres

extension EventQueue {
    /// A transaction's events, from the claim to the commit.
    struct Batch: Sendable {
        let lane: QueueStatements.Lane
        /// How long each statement of the merge may take.
        let timeout: Duration
        /// How long its preparation or merge may compute without progress.
        let computeTimeout: Duration
        /// Whether it gets a crash marker.
        let isMarked: Bool
        let start = ContinuousClock.now
        var claimedAt = ContinuousClock.now
    }

    /// Claims due events and commits what becomes of them, in four round trips: claim, bodies, merge, outcomes with the commit.
    ///
    /// - Parameter claimed: the ids of the claimed events, also when an error is thrown.
    func commitBatch(
        claiming claimed: inout [Int64],
        _ whenClaimed: @Sendable (_ isFull: Bool) -> Void
    ) async throws -> BatchReport {
        var batch = Batch(
            lane: .random(in: .min ... .max),
            timeout: configuration.batchTimeout,
            computeTimeout: configuration.computeTimeout,
            isMarked: markers.areNeeded
        )
        let limit = losses.batchLimit
        // Events that another loop of this process is running one by one, and released in between: no batch may fail because of them again.
        var singles: Set<Int64> = []
        defer { inFlight.leave(batch.lane) }
        do {
            let plan = try await pool.withTransaction { transaction -> SettlementPlan? in
                let events = try await claim(limit, lane: batch.lane, in: transaction)
                batch.claimedAt = .now
                claimed = events.map(\.eventID)
                guard !events.isEmpty else { return nil }
                whenClaimed(events.count >= limit)
                singles = losses.failedTogether(claimed)
                do {
                    return try await settle(events.filter { !singles.contains($0.eventID) }, of: batch, in: transaction)
                } catch  where isWorthRunningSingly(error) {
                    // Before the rollback releases them.
                    losses.begin(singles: claimed)
                    throw error
                }
            }
            guard let plan else { return BatchReport() }
            losses.committed(plan)
            var report = report(plan, of: batch, isFull: claimed.count >= limit)
            if !singles.isEmpty { report.add(try await commitSingly(singles.sorted())) }
            return report
        } catch {
            markers.forget(batch.lane)
            throw error
        }
    }

    /// Reads, prepares and merges events that the transaction holds, and has their outcomes travel with the commit.
    func settle(_ keys: [ClaimedEvent], of batch: Batch, in transaction: Transaction) async throws -> SettlementPlan {
        let delays = losses.delays(of: keys.map(\.eventID))
        let due = delays.isEmpty ? keys : keys.filter { delays[$0.eventID] == nil }
        async let marked: Void = mark(keys, of: batch)
        var events = try await read(due, timeout: batch.timeout, in: transaction)
        await marked
        var prepared = await prepareAll(events, of: batch)
        events = events.map(\.withoutBody)
        release(contestedOf: &events, &prepared, lane: batch.lane)
        var plan = SettlementPlan(
            events: events,
            settlements: try await mergeAll(prepared, of: batch, in: transaction),
            retry: configuration.retry
        )
        for key in keys {
            guard let delay = delays[key.eventID] else { continue }
            plan.postpone(key, for: delay, error: "its batch was lost each time that the event ran by itself")
        }
        try transaction.append(toCommit: [QueueStatements.settle(plan.outcomes, lane: batch.lane)] + QueueStatements.postpone(plan.retries))
        return plan
    }

    func report(_ plan: SettlementPlan, of batch: Batch, isFull: Bool = false) -> BatchReport {
        let now = ContinuousClock.now
        metrics.committed(plan, after: now - batch.start, sinceClaim: now - batch.claimedAt)
        var report = plan.report
        report.isFull = isFull
        return report
    }

    private func claim(_ limit: Int, lane: QueueStatements.Lane, in transaction: Transaction) async throws -> [ClaimedEvent] {
        var start = cursor.next()
        if let look = start.look, start.position == .start {
            let begun = ContinuousClock.now
            cursor.observe(try QueueStatements.probe(await transaction.query(QueueStatements.probe(look)), look), after: .now - begun)
            start = cursor.afterLook()
        }
        let events = try await claim(limit, from: start, lane: lane, in: transaction)
        guard events.isEmpty, start.isContinuation else { return events }
        return try await claim(limit, from: cursor.mark, lane: lane, in: transaction)
    }

    private func claim(
        _ limit: Int,
        from start: ClaimCursor.Start,
        lane: QueueStatements.Lane,
        in transaction: Transaction
    ) async throws -> [ClaimedEvent] {
        let claim = QueueStatements.claim(limit: limit, bytes: configuration.batchBytes, from: start.position, lane: lane)
        let rows: Rows
        if let look = start.look {
            let begun = ContinuousClock.now
            // The probe needs the older snapshot of the two.
            let answers = try await transaction.pipeline([QueueStatements.probe(look), claim])
            cursor.observe(try QueueStatements.probe(answers[0], look), after: .now - begun)
            rows = answers[1]
        } else {
            rows = try await transaction.query(claim)
        }
        cursor.claimed(rows.count, upTo: rows.count < limit ? nil : try QueueStatements.end(rows))
        return try QueueStatements.events(rows)
    }

    private func mark(_ events: [ClaimedEvent], of batch: Batch) async {
        if batch.isMarked { await markers.mark(events.map(\.eventID), lane: batch.lane) }
    }

    private func read(_ keys: [ClaimedEvent], timeout: Duration, in transaction: Transaction) async throws -> [ClaimedEvent] {
        guard !keys.isEmpty else { return [] }
        let rows = try await transaction.query(QueueStatements.bodies(of: keys.map(\.eventID), timeout: timeout))
        return try QueueStatements.events(keys, with: rows)
    }

    /// Events whose contract another batch of this process is merging are released with the end of this transaction.
    private func release(contestedOf events: inout [ClaimedEvent], _ prepared: inout [Prepared], lane: QueueStatements.Lane) {
        let contested = inFlight.enter(lane, with: zip(events, prepared).map { ($0.eventID, subjects($1)) })
        guard !contested.isEmpty else { return }
        metrics.released(contested.count)
        let kept = events.indices.filter { !contested.contains(events[$0].eventID) }
        (events, prepared) = (kept.map { events[$0] }, kept.map { prepared[$0] })
    }
}
