import Postgres
import SQL

/// What the reconciliation costs, of an app with a million contracts and a few stale ones.
extension PlanCase {
    static let reconciling: [PlanCase] = [
        // Beside the stale contracts, a step reads 2,000 random places for the sample, and settles ten questions.
        PlanCase("reconcile", as: "appstore_worker", of: 10, entries: 300, pages: 600, before: stale) { pool, _ in
            let statement = Statement(.reconcileTakeStep, ["bundle_ids": ["b"], "environments": ["Production"], "sample": Int32(1000)])
            let row = try await pool.withConnection { try await $0.query(statement)[0] }
            let (asked, settled) = (try row.decode("asked", as: Int32.self), try row.decode("settled", as: Int32.self))
            guard asked >= 5, settled == 10 else { throw WrongCount(found: Int(asked)) }
        },
        PlanCase("reconcile_read_statistics", as: "appstore_worker") { pool, _ in
            _ = try await pool.withConnection { try await $0.query(Statement(.reconcileReadStatistics)) }
        },
        .statement("reconcile_ask", as: "appstore_operator") {
            Statement(.reconcileAsk, ["transaction_id": "\($0)", "bundle_id": nil as String?, "environment": nil as String?])
        },
    ]

    /// Contracts 51 to 60 have just expired, 61 to 70 are in billing retry, the purchases of 71 to 80 came twenty minutes ago, and ten
    /// questions are answered. Other cases may have deleted some of these purchases.
    private static let stale = """
        DELETE FROM appstore.reconcile_questions WHERE result IS NULL OR original_transaction_id IN (SELECT n::text FROM generate_series(51, 80) AS n);
        DELETE FROM appstore.reconcile_watches WHERE original_transaction_id IN (SELECT n::text FROM generate_series(51, 80) AS n);
        DELETE FROM appstore.reconcile_walks;
        INSERT INTO appstore.reconcile_walks (bundle_id, environment, walk, until)
        SELECT 'b', 'Production', walk.name, now() - interval '5 minutes' - walk.gap
        FROM (VALUES ('before 3 days', interval '-72 hours'), ('after 1 hour', '1 hour'), ('after 1 day', '24 hours'), ('after 3 days', '72 hours'),
                     ('after 7 days', '168 hours'), ('after 30 days', '720 hours'), ('purchases', '15 minutes'), ('refunds', '36 hours'),
                     ('sample', '24 hours')) AS walk (name, gap);
        UPDATE appstore.transactions SET expires_date = now() - interval '62 minutes'
        WHERE transaction_id IN (SELECT n::text FROM generate_series(51, 70) AS n);
        UPDATE appstore.contracts
        SET current_period_end = now() - interval '62 minutes', access_until = now() - interval '62 minutes',
            status = CASE WHEN original_transaction_id::integer > 60 THEN 3 ELSE 1 END
        WHERE original_transaction_id IN (SELECT n::text FROM generate_series(51, 70) AS n);
        UPDATE appstore.contracts SET renewal_signed_date = NULL, renewal_hash = NULL, will_renew = NULL
        WHERE original_transaction_id IN (SELECT n::text FROM generate_series(71, 80) AS n);
        UPDATE appstore.outcomes SET settled_at = now() - interval '17 minutes', original_transaction_id = event_id::text, environment = 'Production'
        WHERE event_id BETWEEN 71 AND 80;
        UPDATE appstore.outbox SET state = 'refused', reason = 'by_test', settled_at = now() WHERE kind = 'subscription_statuses' AND state = 'open';
        INSERT INTO appstore.reconcile_questions (environment, original_transaction_id, bundle_id, rule, asked_at, call_id)
        SELECT 'Production', n::text, 'b', 'sample', now() - interval '2 days', 1000000000 + n FROM generate_series(81, 90) AS n;
        """
}
