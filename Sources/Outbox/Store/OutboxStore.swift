import Postgres

/// The outbox's statements, each the one home of it. All that settle a call name its lease and do nothing when that is no longer the last.
struct OutboxStore: Sendable {
    let pool: ConnectionPool

    /// Takes calls of that kind about these apps that are due, longest waiting first, and those whose lease has run out.
    func lease(_ kind: String, of bundleIDs: [String], atMost count: Int, for length: Duration) async throws -> [LeasedCall] {
        let rows = try await pool.withConnection { connection in
            try await connection.query(Self.lease(kind, of: bundleIDs, atMost: count, for: length))
        }
        return try rows.map(LeasedCall.init)
    }

    /// Whether the lease was still the last.
    func settle(_ call: LeasedCall, _ verdict: CallRules.Verdict) async throws -> Bool {
        let rows = try await pool.withConnection { connection in try await connection.query(Self.settle(call, verdict)) }
        return !rows.isEmpty
    }

    /// Gives a lease back before anything came of it.
    func release(_ call: LeasedCall) async throws {
        _ = try await pool.withConnection { connection in
            try await connection.execute(
                Statement(
                    name: "release_call",
                    """
                    UPDATE appstore.outbox SET is_leased = false, run_at = clock_timestamp()
                    WHERE call_id = \(call.callID) AND epoch = \(call.epoch) AND (state = 'open') IS TRUE -- found by its id
                    """
                )
            )
        }
    }

    static func lease(_ kind: String, of bundleIDs: [String], atMost count: Int, for length: Duration) -> Statement {
        Statement(
            name: "lease_calls",
            """
            WITH due AS MATERIALIZED ( -- 1. lock: of each app those that wait longest, whatever others there are
                SELECT first.call_id
                FROM unnest(\(bundleIDs)) AS app (bundle_id)
                CROSS JOIN LATERAL (
                    SELECT c.call_id, c.run_at FROM appstore.outbox AS c
                    WHERE c.state = 'open' AND c.bundle_id = app.bundle_id AND c.kind = \(kind) AND c.run_at <= statement_timestamp()
                    ORDER BY c.run_at, c.call_id
                    LIMIT \(count)
                    FOR UPDATE SKIP LOCKED
                ) AS first
                ORDER BY first.run_at, first.call_id
                LIMIT \(count)
            ), leased AS ( -- 2. the lease: a new epoch, until a new time
                UPDATE appstore.outbox AS c
                SET epoch = c.epoch + 1, is_leased = true,
                    run_at = clock_timestamp() + \(length.milliseconds) * interval '1 millisecond'
                WHERE c.call_id = ANY (ARRAY(SELECT due.call_id FROM due))
                RETURNING c.call_id, c.epoch, c.kind, c.bundle_id, c.event_id, c.payload, c.attempts, c.last_reason, c.repeats,
                          (extract(epoch FROM c.deadline_at - clock_timestamp()) * 1000)::bigint AS milliseconds_left
            )
            SELECT leased.call_id, leased.epoch, leased.kind, leased.bundle_id, leased.payload, leased.attempts, leased.last_reason,
                   leased.repeats, leased.milliseconds_left, i.source, i.body -- 3. bodies
            FROM leased
            LEFT JOIN LATERAL (SELECT i.source, i.body FROM appstore.inbox AS i WHERE i.event_id = leased.event_id OFFSET 0) AS i ON true
            ORDER BY leased.call_id
            """
        )
    }

    /// Returns a row, unless there was a later lease.
    static func settle(_ call: LeasedCall, _ verdict: CallRules.Verdict) -> Statement {
        switch verdict {
        case .answer(let source, let body):
            Statement(
                name: "answer_call",
                """
                SELECT answer.event_id FROM appstore.answer_call(\(call.callID), \(call.epoch), \(source), \(body)) AS answer (event_id)
                WHERE answer.event_id IS NOT NULL
                """
            )
        case .refuse(let reason): end(call, state: "refused", reason, fallsBack: true)
        case .deny(let reason): end(call, state: "refused", reason, fallsBack: false)
        case .giveUp(let reason): end(call, state: "given_up", reason, fallsBack: true)
        case .postpone(let reason, let delay):
            Statement(
                name: "postpone_call",
                """
                SELECT WHERE appstore.postpone_call(\(call.callID), \(call.epoch), \(reason),
                                                    \(delay.milliseconds) * interval '1 millisecond')
                """
            )
        }
    }

    private static func end(_ call: LeasedCall, state: String, _ reason: String, fallsBack: Bool) -> Statement {
        Statement(
            name: "end_call",
            "SELECT WHERE appstore.end_call(\(call.callID), \(call.epoch), \(state), \(reason), \(fallsBack))"
        )
    }
}

extension LeasedCall {
    fileprivate init(_ row: Row) throws {
        let body: [UInt8]? = try row.decode("body")
        let source: String? = try row.decode("source")
        self.init(
            callID: try row.decode("call_id"),
            epoch: try row.decode("epoch"),
            kind: try row.decode("kind"),
            bundleID: try row.decode("bundle_id"),
            event: body.flatMap { body in source.map { Event(source: $0, body: body) } },
            payload: try row.decode("payload"),
            attempts: Int(try row.decode("attempts", as: Int32.self)),
            lastReason: try row.decode("last_reason"),
            repeats: Int(try row.decode("repeats", as: Int32.self)),
            timeLeft: .milliseconds(try row.decode("milliseconds_left", as: Int64.self))
        )
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
