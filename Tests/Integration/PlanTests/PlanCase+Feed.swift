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
        }
    ]
}
