import Postgres

extension EventQueue {
    /// Takes due events that no other transaction holds, beginning where the cursor says.
    func claim(_ limit: Int, lane: QueueStatements.Lane, in transaction: Transaction) async throws -> [ClaimedEvent] {
        var start = cursor.next()
        if let look = start.look, start.position == .start {
            _ = try await run([QueueStatements.probe(look)], look, in: transaction)
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
        // The probe needs the older snapshot of the two.
        let statements = start.look.map { [QueueStatements.probe($0), claim] } ?? [claim]
        guard let rows = try await run(statements, start.look, in: transaction).last else { return [] }
        cursor.claimed(rows.count, upTo: rows.count < limit ? nil : try QueueStatements.end(rows))
        return try QueueStatements.events(rows)
    }

    /// Runs statements of which the first is a probe, if there is a look.
    private func run(_ statements: [Statement], _ look: LowWaterMark.Look?, in transaction: Transaction) async throws -> [Rows] {
        let begun = ContinuousClock.now
        let answers = try await transaction.pipeline(statements)
        if let look { cursor.observe(try QueueStatements.probe(answers[0], look), after: .now - begun) }
        return answers
    }
}
