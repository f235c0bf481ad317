import Postgres
import SQL

/// What the reconciliation costs, of an app with a million contracts and a few stale ones.
extension PlanCase {
    static let reconciling: [PlanCase] = [
        // A step asks about ten contracts by each rule and settles ten answers. For the sample it reads 2,000 random places.
        PlanCase("reconcile", as: "appstore_worker", of: 10, entries: 300, pages: 600, before: stale) { pool, _ in
            let statement = Statement.reconcile(bundleIDs: ["b"], environments: ["Production"], sample: Int32(1000))
            let before = try await counts(pool)
            _ = try await pool.withConnection { try await $0.query(statement) }
            let after = try await counts(pool)
            let found = after.merging(before) { $0 - $1 }.filter { $0.value != 0 }
            guard found == expected else { throw WrongQuestions(found: found) }
        },
        PlanCase("reconcile_statistics", as: "appstore_worker") { pool, _ in
            _ = try await pool.withConnection { try await $0.query(.reconcileStatistics()) }
        },
        .statement("reconcile_contract", as: "appstore_operator") {
            Statement.reconcileContract(transactionID: "\($0)", bundleID: nil, environment: nil)
        },
    ]

    /// What a step asks and finds. Each rule has ten contracts to ask about, so that the statements of each are measured.
    private static let expected: [String: Int64] = [
        "expired_silent asked": 10, "in_retry asked": 10, "no_renewal_info asked": 10, "price_consent asked": 10, "revoked_doubt asked": 10,
        "sample asked": 10, "sample changed": 10,
    ]

    struct WrongQuestions: Error {
        let found: [String: Int64]
    }

    /// How many questions each rule has asked so far, and how many of their answers changed the ledger.
    private static func counts(_ pool: ConnectionPool) async throws -> [String: Int64] {
        let row = try await pool.withConnection { try await $0.query(.reconcileStatistics())[0] }
        let rules = try row.decode("rules", as: [String].self)
        let asked = zip(rules.map { "\($0) asked" }, try row.decode("questions", as: [Int64].self))
        let changed = zip(rules.map { "\($0) changed" }, try row.decode("changed", as: [Int64].self))
        return Dictionary(uniqueKeysWithValues: Array(asked) + Array(changed))
    }

    /// Contracts of their own, since other cases change and delete those of the scene: ten for each rule, whose time has come a minute or two
    /// ago, and ten whose answer is in the ledger. The walks were here five minutes ago. The sample is of the scene's customers.
    private static let stale = """
        CREATE TEMPORARY TABLE stale ON COMMIT DROP AS
        SELECT (90000000 + place * 100 + n)::text AS id, rule, until, nextval('appstore.inbox_event_id') AS event_id
        FROM (VALUES (1, 'expired_silent', now() - interval '62 minutes'), (2, 'in_retry', now() - interval '1442 minutes'),
                     (3, 'no_renewal_info', now() + interval '20 days'), (4, 'price_consent', now() + interval '4318 minutes'),
                     (5, 'revoked_doubt', now() + interval '20 days'), (6, 'answered', now() - interval '2 days')) AS rule (place, rule, until),
             generate_series(1, 10) AS n;
        -- While events wait, nothing is asked.
        UPDATE appstore.inbox_queue SET run_at = now() WHERE run_at < now() - interval '30 seconds';
        UPDATE appstore.outbox SET state = 'refused', reason = 'by_test', settled_at = now()
        WHERE kind IN ('subscription_statuses', 'transaction_history') AND state = 'open';
        DELETE FROM appstore.reconcile_questions WHERE result IS NULL OR original_transaction_id IN (SELECT id FROM stale);
        DELETE FROM appstore.reconcile_watches WHERE original_transaction_id IN (SELECT id FROM stale);
        DELETE FROM appstore.consumption_obligations WHERE transaction_id IN (SELECT id FROM stale);
        DELETE FROM appstore.outcomes WHERE original_transaction_id IN (SELECT id FROM stale);
        DELETE FROM appstore.contracts WHERE original_transaction_id IN (SELECT id FROM stale);
        DELETE FROM appstore.transactions WHERE original_transaction_id IN (SELECT id FROM stale);
        DELETE FROM appstore.reconcile_walks;
        INSERT INTO appstore.reconcile_walks (bundle_id, environment, walk, until)
        SELECT 'b', 'Production', walk.name, now() - interval '5 minutes' - walk.gap
        FROM (VALUES ('before 3 days', interval '-72 hours'), ('after 1 hour', '1 hour'), ('after 1 day', '24 hours'), ('after 3 days', '72 hours'),
                     ('after 7 days', '168 hours'), ('after 30 days', '720 hours'), ('purchases', '15 minutes'), ('refunds', '36 hours'),
                     ('sample', '24 hours')) AS walk (name, gap);
        INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
            purchase_date, expires_date, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
        SELECT 'Production', id, id, 'b', 'p', 'Auto-Renewable Subscription', '2026-01-02', until, '2026-01-02', '\\x01', '2026-01-02',
               gen_random_uuid(), true
        FROM stale;
        INSERT INTO appstore.contracts (environment, original_transaction_id, bundle_id, product_id, product_type, status, will_renew,
            current_transaction_id, current_period_start, current_period_end, access_until, price_increase_status, renewal_signed_date, renewal_hash)
        SELECT 'Production', id, 'b', 'p', 'Auto-Renewable Subscription', CASE rule WHEN 'in_retry' THEN 3 WHEN 'no_renewal_info' THEN NULL ELSE 1 END,
               CASE WHEN rule <> 'no_renewal_info' THEN rule <> 'answered' END, id, '2026-01-02', until, until,
               CASE rule WHEN 'price_consent' THEN 0 END, CASE WHEN rule <> 'no_renewal_info' THEN '2026-01-02'::timestamptz END,
               CASE WHEN rule <> 'no_renewal_info' THEN '\\x01'::bytea END
        FROM stale;
        INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at)
        SELECT 'Production', id, id, now() - interval '2882 minutes', now() - interval '2162 minutes' FROM stale WHERE rule = 'revoked_doubt';
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, environment, original_transaction_id)
        SELECT event_id, CASE rule WHEN 'answered' THEN 'subscription_status' ELSE 'client_transaction' END, now() - interval '17 minutes',
               now() - interval '17 minutes', 1, 1, 'applied', 'Production', id
        FROM stale WHERE rule IN ('answered', 'no_renewal_info');
        WITH calls AS (
            INSERT INTO appstore.outbox (kind, call_key, bundle_id, environment, payload, run_at, deadline_at, state, settled_at, answer_event_id)
            SELECT 'subscription_statuses', id, 'b', 'Production', '{}', now(), now(), 'answered', now() - interval '17 minutes', event_id
            FROM stale WHERE rule = 'answered'
            RETURNING call_id, call_key
        )
        INSERT INTO appstore.reconcile_questions (environment, original_transaction_id, bundle_id, rule, asked_at, call_id, status, will_renew)
        SELECT 'Production', call_key, 'b', 'sample', now() - interval '2 days', call_id, 1, true FROM calls;
        """
}
