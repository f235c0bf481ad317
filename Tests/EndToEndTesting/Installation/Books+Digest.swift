import Postgres

/// The books without anything that depends on when and in which order events arrived: equal for equal sets of events.
extension Books {
    /// One line for each row, in an order that depends on the keys alone.
    package func digest() async throws -> [String] {
        try await values(
            """
            SELECT line FROM (
                SELECT 'transaction ' || to_jsonb(t)::text AS line FROM appstore.transactions AS t
                UNION ALL SELECT 'subscription ' || to_jsonb(s)::text FROM appstore.subscriptions AS s
                UNION ALL SELECT 'order ' || (to_jsonb(o) - 'created_at' - 'ordered_at')::text FROM appstore.orders AS o
                UNION ALL SELECT 'claim ' || to_jsonb(c)::text FROM appstore.claims AS c
                UNION ALL SELECT 'contract ' || (to_jsonb(m) - 'created_at')::text FROM appstore.member_contracts AS m
                UNION ALL SELECT 'effect ' || e.environment || ' ' || e.kind || ' ' || e.effect_key FROM appstore.effects AS e
                UNION ALL SELECT 'submission ' || (to_jsonb(s) - 'received_at' - 'event_id')::text FROM appstore.submissions AS s
                UNION ALL SELECT 'refund ' || to_jsonb(r)::text FROM appstore.refund_statements AS r
                UNION ALL SELECT 'seen ' || n.environment || ' ' || n.notification_uuid FROM appstore.notifications_seen AS n
            ) AS line (line) ORDER BY line COLLATE "C"
            """
        )
    }

    /// What the program itself says of the books of both environments, in one hash each.
    package func stateDigests() async throws -> [String] {
        try await values(
            "SELECT environment || ' ' || appstore.state_digest(environment) FROM unnest(ARRAY['Production', 'Sandbox']) AS environment"
        )
    }

    /// Whether nothing that was verified has left a trace.
    package func areEmpty() async throws -> Bool {
        try await digest().isEmpty
    }
}

/// What one side has and the other has not; empty for equal books, readable for others.
package func difference(_ left: [String], _ right: [String]) -> [String] {
    left.difference(from: right).map { change in
        switch change {
        case .insert(_, let line, _): "+ \(line)"
        case .remove(_, let line, _): "- \(line)"
        }
    }
}
