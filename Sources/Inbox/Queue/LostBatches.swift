import Postgres

/// What follows for the events of batches that ended without a commit.
///
/// Those who were in company become suspects: each runs alone from now on, and no attempt is counted. A suspect that was lost while it ran
/// alone is left to wait until its process has had time to say that it lives. After that it has killed it, which counts as an attempt; it
/// backs off, and after the last death it is `failed`.
enum LostBatches {
    /// How strict to be.
    struct Rules: Sendable {
        /// How long a process has to say that it lives after its batch was found lost.
        var grace: Duration
        /// How many deaths make an event `failed`, and how long it backs off after each.
        var deaths: RetryPolicy
    }

    /// A lost batch's crash marker.
    struct Marker: Sendable {
        let lane: ClaimedBatch.Lane
        let eventIDs: [Int64]
        let isAlone: Bool
        /// Whether it was found lost long enough ago; nil if never before.
        let isOverdue: Bool?
        let givenUp: String?
    }

    /// A lost event that this transaction holds.
    struct Event: Sendable {
        let claimed: ClaimedEvent
        let deaths: Int
    }

    /// What is to be done about a marker.
    enum Verdict: Equatable {
        /// These run alone from now on.
        case suspects([Int64])
        /// It is to wait.
        case respite(Int64)
        /// It killed its process, or had to be given up for that reason.
        case death(Int64, reason: String)
        /// Somebody else has it in his hands, or its time has not come: later.
        case later
    }

    /// - Parameters:
    ///   - held: The marker's events that are still unsettled and held by who asks.
    ///   - waiting: Its events that are still unsettled.
    static func verdict(on marker: Marker, held: Set<Int64>, waiting: Set<Int64>) -> Verdict {
        guard marker.isAlone, let event = marker.eventIDs.first else {
            // What another batch holds by now is that batch's affair, and its marker's.
            return .suspects(marker.eventIDs.filter(held.contains))
        }
        guard waiting.contains(event) else { return .suspects([]) }
        guard held.contains(event) else { return .later }
        if let reason = marker.givenUp { return .death(event, reason: reason) }
        switch marker.isOverdue {
        case nil: return .respite(event)
        case false?: return .later
        case true?: return .death(event, reason: "killed_worker")
        }
    }

    /// Looks for lost batches and carries the verdicts out.
    static func judge(_ rules: Rules, in transaction: Transaction) async throws -> LossReport {
        let look = try await transaction.query(
            """
            SELECT ARRAY(SELECT m.lane FROM appstore.inbox_in_flight AS m WHERE pg_try_advisory_xact_lock(m.lane)) AS lanes,
                   EXISTS (SELECT FROM appstore.inbox_ready AS r WHERE r.is_suspect AND r.run_at <= statement_timestamp()) AS suspects
            """
        )
        var report = LossReport(suspectsAreDue: try look[0].decode("suspects"))
        let lanes: [ClaimedBatch.Lane] = try look[0].decode("lanes")
        guard !lanes.isEmpty else { return report }

        // A batch that has just been committed had its lane freed after its marker was gone, which only a later statement sees.
        let markers = try await lock(lanes, grace: rules.grace, in: transaction)
        let ids = Set(markers.flatMap(\.eventIDs)).sorted()
        let waiting = try await transaction.query("SELECT event_id FROM appstore.inbox_ready WHERE event_id = ANY (\(ids))")
        let events = try await hold(ids, in: transaction)
        let held = Dictionary(uniqueKeysWithValues: events.map { ($0.claimed.eventID, $0) })
        var consequences = Consequences(rules: rules, events: held)
        for marker in markers {
            let verdict = try verdict(on: marker, held: Set(held.keys), waiting: Set(waiting.map { try $0.decode(0) }))
            consequences.add(verdict, of: marker)
        }
        _ = try await transaction.pipeline(consequences.statements)
        report.add(consequences)
        return report
    }

    private static func lock(_ lanes: [ClaimedBatch.Lane], grace: Duration, in transaction: Transaction) async throws -> [Marker] {
        let rows = try await transaction.query(
            """
            SELECT m.lane, m.event_ids, m.is_alone, m.given_up,
                   m.lost_at <= clock_timestamp() - \(grace.wholeMilliseconds) * interval '1 millisecond' AS is_overdue
            FROM appstore.inbox_in_flight AS m WHERE m.lane = ANY (\(lanes))
            ORDER BY m.lane
            FOR UPDATE SKIP LOCKED
            """
        )
        return try rows.map { row in
            Marker(
                lane: try row.decode("lane"),
                eventIDs: try row.decode("event_ids"),
                isAlone: try row.decode("is_alone"),
                isOverdue: try row.decode("is_overdue"),
                givenUp: try row.decode("given_up")
            )
        }
    }

    private static func hold(_ ids: [Int64], in transaction: Transaction) async throws -> [Event] {
        let rows = try await transaction.query(
            """
            WITH held AS MATERIALIZED (
                SELECT r.event_id, r.attempts, r.deaths FROM appstore.inbox_ready AS r WHERE r.event_id = ANY (\(ids))
                ORDER BY r.event_id
                FOR UPDATE SKIP LOCKED
            )
            SELECT held.event_id, held.attempts, held.deaths, statement_timestamp() AS claimed_at, i.source, i.received_at, ''::bytea AS body
            FROM held
            CROSS JOIN LATERAL (SELECT i.source, i.received_at FROM appstore.inbox AS i WHERE i.event_id = held.event_id OFFSET 0) AS i
            """
        )
        return try zip(ClaimedBatch.events(rows), rows).map { claimed, row in
            Event(claimed: claimed, deaths: Int(try row.decode("deaths", as: Int16.self)))
        }
    }
}
