import Postgres

/// The statements of a claim: which events a transaction takes, and how it lets them go.
enum ClaimedBatch {
    /// The advisory lock that the transaction holds from its claim to its end; see ``CrashMarkers``.
    typealias Lane = Int64

    /// Takes due events, longest waiting first, that no other transaction holds and that are not suspect: at most `limit`, and bodies of at
    /// most `bytes` together (one larger body still comes alone).
    ///
    /// - Parameters:
    ///   - start: the first place that is looked at; see ``QueueMemory/nextClaim(at:)``.
    ///   - bound: how long each later statement of the transaction may take. A lock has less time, so that waiting for it is not taken for being
    ///     slow.
    ///   - withBodies: otherwise they come without what the inbox has of them, to be asked for with ``stored(_:)``.
    static func claim(
        limit: Int,
        bytes: Int,
        from start: QueuePosition,
        lane: Lane,
        bound: Duration,
        withBodies: Bool = true
    ) -> Statement {
        Statement(
            name: withBodies ? "claim" : "claim_keys",
            """
            WITH due AS MATERIALIZED ( -- 1. lock
                SELECT r.event_id, r.run_at, r.attempts, r.bytes
                FROM appstore.inbox_ready AS r
                WHERE r.run_at <= statement_timestamp() AND (r.run_at, r.event_id) >= (\(start.runAt), \(start.eventID)) AND NOT r.is_suspect
                ORDER BY r.run_at, r.event_id
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            ), measured AS ( -- 2. keep to the byte budget; what is over it is let go with this transaction
                SELECT due.*, sum(due.bytes) OVER (ORDER BY due.run_at, due.event_id) - due.bytes AS bytes_before
                FROM due
            )
            SELECT m.event_id, m.run_at, m.attempts, clock_timestamp() AS claimed_at, i.source, i.received_at, i.body,
                   (SELECT pg_advisory_xact_lock(\(lane))) AS lane, -- once, and only if there are events
                   (SELECT set_config('statement_timeout', \("\(bound.wholeMilliseconds)"), true)) AS bound,
                   (SELECT set_config('lock_timeout', \("\(max(bound.wholeMilliseconds * 4 / 5, 1))"), true)) AS lock_bound
            FROM measured AS m
            CROSS JOIN LATERAL (\(unsafeRaw: stored(of: "m", withBodies))) AS i -- 3. bodies
            WHERE m.bytes_before = 0 OR m.bytes_before + m.bytes <= \(bytes)
            ORDER BY m.run_at, m.event_id
            """
        )
    }

    /// What `last_error` says of a suspect whose process died when it no longer ran alone.
    static var lossBesideOthers: String { "its process died while it ran beside others" }

    /// Takes the least suspicious event of those that have to run alone, but none whose last time alone has still to be judged.
    static func claimSuspect(lane: Lane, withBody: Bool = true) -> Statement {
        Statement(
            name: withBody ? "claim_suspect" : "claim_suspect_key",
            """
            WITH due AS MATERIALIZED (
                SELECT r.event_id, r.attempts, r.deaths, r.last_error
                FROM appstore.inbox_ready AS r
                WHERE r.is_suspect AND r.run_at <= statement_timestamp()
                  AND NOT EXISTS (SELECT FROM appstore.inbox_in_flight AS m WHERE m.is_alone AND m.event_ids[1] = r.event_id)
                ORDER BY r.deaths, r.run_at, r.event_id
                LIMIT 1
                FOR UPDATE OF r SKIP LOCKED
            )
            SELECT due.event_id, due.attempts, due.deaths, due.last_error IS NOT DISTINCT FROM \(lossBesideOthers) AS has_to_stay_alone,
                   clock_timestamp() AS claimed_at, i.source, i.received_at, i.body, (SELECT pg_advisory_xact_lock(\(lane))) AS lane
            FROM due
            CROSS JOIN LATERAL (\(unsafeRaw: stored(of: "due", withBody))) AS i
            """
        )
    }

    /// What the inbox has of the event of a row: a lookup for each, whatever the planner thinks of the sizes.
    private static func stored(of row: String, _ isRead: Bool) -> String {
        isRead
            ? "SELECT i.source, i.received_at, i.body FROM appstore.inbox AS i WHERE i.event_id = \(row).event_id OFFSET 0"
            : "SELECT '' AS source, clock_timestamp() AS received_at, ''::bytea AS body"
    }

    /// What the inbox has of an event.
    static func stored(_ event: Int64) -> Statement {
        Statement(
            name: "stored",
            "SELECT i.source, i.received_at, i.body FROM appstore.inbox AS i WHERE i.event_id = \(event)"
        )
    }

    /// Looks for the first event of the queue, held or not, without locking anything. To be the first statement of its transaction.
    static func probe(_ look: LowWaterMark.Look) -> Statement {
        Statement(
            name: "probe",
            """
            SELECT first.run_at, first.event_id, statement_timestamp() AS probed_at,
                   pg_snapshot_xmin(seen)::text::bigint AS xmin, clock_timestamp() AS ended_at,
                   CASE WHEN \(look.isNumbered) THEN pg_current_xact_id()::text::bigint END AS xid, pg_postmaster_start_time() AS server_start
            FROM pg_current_snapshot() AS seen
            LEFT JOIN LATERAL (
                SELECT r.run_at, r.event_id FROM appstore.inbox_ready AS r
                WHERE (r.run_at, r.event_id) >= (\(look.from.runAt), \(look.from.eventID))
                ORDER BY r.run_at, r.event_id
                LIMIT 1
            ) AS first ON true
            """
        )
    }

    static func events(_ rows: Rows) throws -> [ClaimedEvent] {
        try rows.map { row in
            ClaimedEvent(
                eventID: try row.decode("event_id"),
                source: try row.decode("source"),
                receivedAt: try row.decode("received_at"),
                claimedAt: try row.decode("claimed_at"),
                attempts: Int(try row.decode("attempts", as: Int16.self)),
                body: try row.decode("body")
            )
        }
    }

    /// Behind the last of them.
    static func end(_ rows: Rows) throws -> QueuePosition? {
        guard let row = rows.last else { return nil }
        return QueuePosition(runAt: try row.decode("run_at"), eventID: try row.decode("event_id", as: Int64.self) + 1)
    }

    /// The same for statements that ask for deaths, too.
    static func suspects(_ rows: Rows) throws -> [ClaimedEvent] {
        try zip(events(rows), rows).map { event, row in
            var suspect = event
            suspect.deaths = Int(try row.decode("deaths", as: Int16.self))
            suspect.hasToStayAlone = try row.decode("has_to_stay_alone")
            return suspect
        }
    }

    static func probe(_ rows: Rows, _ look: LowWaterMark.Look) throws -> LowWaterMark.Probe {
        let row = rows[0]
        var probe = LowWaterMark.Probe(
            from: look.from,
            serverStart: try row.decode("server_start"),
            at: try row.decode("probed_at"),
            xmin: try row.decode("xmin"),
            xid: try row.decode("xid")
        )
        probe.duration = .microseconds(
            try row.decode("ended_at", as: PostgresTimestamp.self).microsecondsSince2000 - probe.at.microsecondsSince2000
        )
        if let runAt = try row.decode("run_at", as: PostgresTimestamp?.self) {
            probe.first = QueuePosition(runAt: runAt, eventID: try row.decode("event_id"))
        }
        return probe
    }

    /// Records outcomes and takes their events out of the queue.
    static func settle(_ outcomes: [SettlementPlan.Settled]) -> [Statement] {
        guard !outcomes.isEmpty else { return [] }
        let ids = outcomes.map(\.event.eventID)
        let labels = outcomes.map(\.outcome.labels)
        return [
            Statement(
                name: "record_outcomes",
                """
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error,
                                               notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id,
                                               original_transaction_id)
                SELECT s.event_id, s.source, s.received_at, clock_timestamp(),
                       1 + coalesce((SELECT max(h.run) FROM appstore.outcome_history AS h WHERE h.event_id = s.event_id), 0),
                       s.attempts, s.result, s.reason, s.last_error, s.notification_type, s.subtype, s.notification_uuid, s.environment,
                       s.bundle_id, s.transaction_id, s.original_transaction_id
                FROM ( -- not a function in FROM, for which PostgreSQL would store each column by itself first
                    SELECT unnest(\(ids)) AS event_id, unnest(\(outcomes.map(\.event.source))) AS source,
                           unnest(\(outcomes.map(\.event.receivedAt))) AS received_at,
                           unnest(\(outcomes.map { Int32($0.attempts) })) AS attempts,
                           unnest(\(outcomes.map(\.outcome.result.rawValue))) AS result, unnest(\(outcomes.map(\.outcome.reason))) AS reason,
                           unnest(\(outcomes.map(\.error))) AS last_error, unnest(\(labels.map(\.notificationType))) AS notification_type,
                           unnest(\(labels.map(\.subtype))) AS subtype, unnest(\(labels.map(\.notificationUUID))) AS notification_uuid,
                           unnest(\(labels.map(\.environment))) AS environment, unnest(\(labels.map(\.bundleID))) AS bundle_id,
                           unnest(\(labels.map(\.transactionID))) AS transaction_id,
                           unnest(\(labels.map(\.originalTransactionID))) AS original_transaction_id
                ) AS s
                ORDER BY s.event_id
                """
            ),
            Statement(name: "leave_queue", "DELETE FROM appstore.inbox_ready WHERE event_id = ANY (\(ids))"),
        ]
    }

    /// Takes the batch's crash marker away, if it has one.
    static func unmark(_ lane: Lane) -> Statement {
        Statement(name: "unmark", "DELETE FROM appstore.inbox_in_flight WHERE lane = \(lane)")
    }

    /// Sends events back to wait. Their rows are locked by the claim, so that a plain UPDATE cannot meet another in the wrong order.
    static func postpone(_ retries: [SettlementPlan.Retry]) -> [Statement] {
        guard !retries.isEmpty else { return [] }
        let ids = retries.map(\.event.eventID)
        return [
            Statement(
                name: "postpone",
                """
                WITH later AS MATERIALIZED (
                    SELECT * FROM unnest(\(ids), \(retries.map(\.isAttempt)), \(retries.map(\.isSuspect)), \(retries.map { $0.delay.wholeMilliseconds }),
                                         \(retries.map(\.error)))
                                  AS later (event_id, is_attempt, is_suspect, delay, error)
                )
                UPDATE appstore.inbox_ready AS r
                SET (attempts, is_suspect, last_error, run_at) = (
                    SELECT r.attempts + later.is_attempt::int, r.is_suspect OR later.is_suspect, later.error,
                           clock_timestamp() + later.delay * interval '1 millisecond'
                    FROM later WHERE later.event_id = r.event_id)
                WHERE r.event_id = ANY (\(ids))
                """
            )
        ]
    }
}

extension Duration {
    var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
