import Postgres
import Testing

/// What the feed reads.
extension PlanCase {
    static let telling: [PlanCase] = [
        PlanCase("a step of the sequencer", as: "postgres", of: 10, before: "UPDATE appstore.feed_switch SET is_on = true") { pool, keys in
            let contracts = keys.map { "\($0)" }
            let told = try await pool.withConnection { connection in
                _ = try await connection.execute("SET enable_seqscan = off")
                _ = try await connection.execute(
                    """
                    INSERT INTO appstore.tells (kind, environment, ref)
                    SELECT 'contract', 'Production', unnest(\(contracts))
                    UNION ALL
                    SELECT 'effect', e.environment, e.effect_id::text
                    FROM unnest(\(contracts)) AS c (id) CROSS JOIN LATERAL (
                        SELECT e.environment, e.effect_id FROM appstore.effect_log AS e WHERE e.original_transaction_id = c.id OFFSET 0
                    ) AS e
                    """
                )
                let step = try await connection.query("SELECT s.told FROM appstore.sequence_feed() AS s")
                _ = try await connection.execute("UPDATE appstore.feed_switch SET is_on = false WHERE is_only")
                return try step[0].decode("told", as: Int64.self)
            }
            #expect(told >= 10)
        },
        reading("api_feed after a cursor") { customer in
            """
            SELECT cardinality(events) AS events
            FROM appstore.api_feed(\(keyHash(customer)), NULL, '{access.changed,effect.*}', NULL, 1, \(Int64(max(0, customer - 50))), NULL, 10, false)
            """
        },
        reading("api_feed from an instant") { customer in
            """
            SELECT cardinality(events) AS events
            FROM appstore.api_feed(\(keyHash(customer)), NULL, NULL, NULL, NULL, NULL,
                                   '2026-01-02'::timestamptz + \(Int64(customer) - 50) * interval '1 second', 10, true)
            """
        },
        .statement("api_feed_entry", as: "appstore_api") { "SELECT appstore.api_feed_entry(\(keyHash($0)), \(Int64($0)))" },
    ]

    /// A page of ten entries while the feed is on. Meanwhile other cases would write tells.
    private static func reading(_ name: String, _ statement: @escaping @Sendable (_ customer: Int) -> Statement) -> PlanCase {
        PlanCase(name, as: "postgres", before: "UPDATE appstore.feed_switch SET is_on = true") { pool, keys in
            for customer in keys {
                let events = try await pool.withConnection { try await $0.query(statement(customer))[0].decode("events", as: Int32.self) }
                #expect(events == 10)
            }
            try await pool.withConnection { _ = try await $0.execute("UPDATE appstore.feed_switch SET is_on = false WHERE is_only") }
        }
    }
}
