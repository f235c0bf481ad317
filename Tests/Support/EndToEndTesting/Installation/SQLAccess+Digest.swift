import Postgres

/// The ledger without columns that depend on the time or order of arrival: equal for equal sets of events.
extension SQLAccess {
    /// One line for each row, ordered by content.
    package func digest() async throws -> [String] {
        try await values(
            """
            SELECT line FROM (
                SELECT 'transaction ' || to_jsonb(t)::text AS line FROM appstore.transactions AS t
                UNION ALL SELECT 'posted type ' || to_jsonb(p)::text FROM appstore.posted_types AS p
                UNION ALL SELECT 'order ' || (to_jsonb(o) - 'ordered_at')::text FROM appstore.orders AS o
                UNION ALL SELECT 'claim ' || to_jsonb(c)::text FROM appstore.ownership_claims AS c
                UNION ALL SELECT 'contract ' || to_jsonb(m)::text FROM appstore.contracts AS m
                UNION ALL SELECT 'effect ' || e.environment || ' ' || e.kind || ' ' || e.subject FROM appstore.effect_log AS e
                UNION ALL SELECT 'post ' || (to_jsonb(p) - 'post_id' - 'received_at' - 'event_id')::text FROM appstore.client_posts AS p
                UNION ALL SELECT 'refund ' || to_jsonb(r)::text FROM appstore.refund_requests AS r
                UNION ALL SELECT 'seen ' || n.environment || ' ' || n.notification_uuid FROM appstore.seen_notifications AS n
            ) AS line (line) ORDER BY line COLLATE "C"
            """
        )
    }

    /// The program's own digest of each environment's ledger.
    package func stateDigests() async throws -> [String] {
        try await values(
            "SELECT environment || ' ' || appstore.state_digest(environment) FROM unnest(enum_range(NULL::appstore.environment)) AS environment"
        )
    }

    /// Whether the ledger has no rows.
    package func areEmpty() async throws -> Bool {
        try await digest().isEmpty
    }
}

/// The lines that differ, marked with + or -; empty for equal ledgers.
package func difference(_ left: [String], _ right: [String]) -> [String] {
    left.difference(from: right).map { change in
        switch change {
        case .insert(_, let line, _): "+ \(line)"
        case .remove(_, let line, _): "- \(line)"
        }
    }
}
