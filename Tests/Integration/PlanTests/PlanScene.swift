import Foundation
import InboxTesting
import Postgres
import PostgresTesting

/// A database with many customers. Customer 7 has contract, charge, event, order and user 7, and so on.
enum PlanScene {
    /// Added to the number of orders that a charge names and the shop did not make.
    static let unordered = 1_000_000
    /// Added to the ids of events that wait for another attempt; added twice to the ids of waiting events of which some are due.
    static let waiting = 2_000_000_000

    /// The order number that ``fill(_:in:)`` gives a customer.
    static func token(_ customer: Int) -> UUID {
        let digits = String(customer)
        return UUID(uuidString: "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits) ?? UUID()
    }

    /// A database without customers, whose partitions are ready and whose first partition gets no more events.
    static func make() async throws -> TestDatabase {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                UPDATE appstore.retention SET bodies = '30 days', outcomes = '60 days';
                SELECT setval('appstore.inbox_event_id', 10000001);
                CREATE TABLE appstore.feed_from_1 PARTITION OF appstore.feed FOR VALUES FROM (1) TO (5000);
                CREATE TABLE appstore.feed_from_5000 PARTITION OF appstore.feed FOR VALUES FROM (5000) TO (10000001);
                UPDATE appstore.feed_head SET generation = 1, partition_from = 5000, partition_to = 10000001, partition_since = now(), cluster = appstore.feed_cluster();
                INSERT INTO appstore.feed_generations VALUES (1, 1, now(), true);
                INSERT INTO appstore.endpoints (name, url, format, with_wrong_bundle, keeps_order, max_in_flight, timeout_seconds, position)
                SELECT 'e' || n, 'https://example.com', 'event', false, true, 8, 15, 0 FROM generate_series(1, 20) AS n;
                INSERT INTO appstore.imports (bundle_id, depth, file_name, file_sha256, state, made_by, last_line, next_line)
                VALUES ('b', 'history', 'f', sha256('f'), 'running', 'by_test', 1000000, 1000001);
                INSERT INTO appstore.consumption_policies (bundle_id, mode) VALUES ('b', 'backend'), ('com.example.app', 'backend');
                """
            )
        }
        return database
    }

    /// Inserts customers with these numbers.
    static func fill(_ customers: ClosedRange<Int>, in database: TestDatabase) async throws {
        let script = script.replacing("customers(n)", with: "generate_series(\(customers.lowerBound), \(customers.upperBound)) AS c(n)")
        try await database.withConnection { try await $0.runScript(script) }
    }

    /// Inserts 7 contracts without an owner, 7 mismatched orders and 200 refused posts, which `appstore.unmatched` lists, in the Sandbox, where no
    /// other customer is. A page lists the first 21.
    static let unmatched = """
        INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
            purchase_date, expires_date, signed_date, payload_hash, first_signed_date, first_token, app_account_token, period_no,
            is_subscription, order_no)
        SELECT 'Sandbox', 'u' || n, 'u' || n, 'b', 'p', 'Auto-Renewable Subscription', '2026-01-02', '2026-02-01', '2026-01-02', '\\x01',
               '2026-01-02', token.token, token.token, no(n + 4000000), true, no(n + 4000000)
        FROM generate_series(1, 214) AS n, LATERAL (SELECT CASE WHEN n BETWEEN 8 AND 14 THEN no(n + 5000000) END AS token) AS token
        ON CONFLICT DO NOTHING;
        INSERT INTO appstore.contracts (environment, original_transaction_id, user_id, is_unowned, bundle_id, product_id, product_type, status,
            current_transaction_id, current_period_start, current_period_end, access_until)
        SELECT 'Sandbox', 'u' || n, CASE WHEN n > 7 THEN 'user ' || n END, n <= 7, 'b', 'p', 'Auto-Renewable Subscription', 1, 'u' || n,
               '2026-01-02', '2026-02-01', '2026-02-01'
        FROM generate_series(1, 214) AS n ON CONFLICT DO NOTHING;
        INSERT INTO appstore.ownership_claims (environment, original_transaction_id, kind, source_id, user_id, effective_at)
        SELECT 'Sandbox', 'u' || n, 'client', 'u' || n, 'user ' || n, '2026-01-02' FROM generate_series(8, 214) AS n ON CONFLICT DO NOTHING;
        INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, ordered_at, reason)
        SELECT 'Sandbox', no(n + 5000000), 'other ' || n, 'q', '2026-01-01', 'product_mismatch' FROM generate_series(8, 14) AS n
        ON CONFLICT DO NOTHING;
        INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict)
        SELECT 'Sandbox', 'u' || n, 'other ' || n, false, 'u' || n, '2026-01-03', n, 'owner_conflict' FROM generate_series(15, 214) AS n
        ON CONFLICT DO NOTHING;
        """.writingNumbers

    /// Inserts a contract of 250 weeks, each with seats that were added.
    static let group = """
        INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
            purchase_date, expires_date, quantity, transaction_reason, signed_date, payload_hash, first_signed_date, period_no, is_subscription,
            multi_seat_info, additional_transaction_reason)
        SELECT 'Production', 'g' || n, 'g0', 'b', 'group', 'Auto-Renewable Subscription', w.start + n % 2 * interval '1 day',
               w.start + interval '7 days', 2, CASE WHEN n % 2 = 0 AND n > 0 THEN 'RENEWAL' ELSE 'PURCHASE' END, w.start, '\\x01', w.start,
               no(n + 6000000), true, '{}', 'SEAT_ADDITION'
        FROM generate_series(0, 499) AS n, LATERAL (SELECT timestamptz '2021-01-04 UTC' + n / 2 * interval '7 days' AS start) AS w
        """.writingNumbers

    private static let script = """
        INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
            purchase_date, expires_date, signed_date, payload_hash, first_signed_date, first_token, app_account_token, period_no,
            is_subscription, order_no, app_transaction_id)
        SELECT 'Production', n::text, n::text, 'b', 'p', 'Auto-Renewable Subscription', '2026-01-02', '2026-02-01', '2026-01-02', '\\x01',
               '2026-01-02', no(n + 1000000), no(n + 1000000), no(n + 2000000), true, no(n + 1000000), 'app ' || n
        FROM customers(n);
        INSERT INTO appstore.app_transactions (environment, app_transaction_id, bundle_id, original_application_version, original_purchase_date,
            signed_date, payload_hash, event_id, user_id, posted_at, post_event_id)
        SELECT 'Production', 'app ' || n, 'b', '212', '2024-01-01', '2026-01-02', '\\x01', n, post.user_id, post.at,
               CASE WHEN post.at IS NOT NULL THEN n END
        FROM customers(n), LATERAL (SELECT CASE n % 2 WHEN 1 THEN 'user ' || n END, CASE n % 2 WHEN 1 THEN now() END) AS post (user_id, at);
        INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, ordered_at)
        SELECT 'Production', no(n), 'user ' || n, 'pro.monthly', '2026-01-01' FROM customers(n);
        INSERT INTO appstore.token_orders (environment, order_no, status, period_no, transaction_id, original_transaction_id, paid_at)
        SELECT 'Production', no(n + 1000000), 'paid', no(n + 2000000), n::text, n::text, '2026-01-02' FROM customers(n);
        INSERT INTO appstore.contracts (environment, original_transaction_id, user_id, bundle_id, product_id, product_type, status, will_renew,
            current_transaction_id, current_period_start, current_period_end, access_until, renewal_status, auto_renew_status,
            renewal_signed_date, renewal_hash)
        SELECT 'Production', n::text, 'user ' || n, 'b', 'p', 'Auto-Renewable Subscription', 1, true, n::text, '2026-01-02', now() + interval '20 days',
               now() + interval '20 days', 1, 1, '2026-01-01', '\\x01'
        FROM customers(n);
        INSERT INTO appstore.ownership_claims (environment, original_transaction_id, kind, source_id, user_id, effective_at)
        SELECT 'Production', n::text, 'client', n::text, 'user ' || n, '2026-01-02' FROM customers(n);
        INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor)
        SELECT 'Production', n::text, '2026-01-02', 'user ' || n, 'by_test' FROM customers(n);
        INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id)
        SELECT 'Production', n::text, 'user ' || n, k = 1, CASE k WHEN 0 THEN n::text END, '2026-01-02', n
        FROM customers(n), generate_series(0, 1) AS k;
        INSERT INTO appstore.refund_requests (environment, notification_uuid, kind, transaction_id, original_transaction_id, signed_date)
        SELECT 'Production', gen_random_uuid(), 'asked', n::text, n::text, '2026-01-03' FROM customers(n);
        INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at)
        SELECT 'Production', n::text, n::text, now() - interval '1 hour', now() + interval '11 hours' + n * interval '1 millisecond'
        FROM customers(n);
        INSERT INTO appstore.consents (user_id, given_at, given_by, evidence, withdrawn_at, withdrawn_by)
        SELECT 'user ' || n, '2026-01-02', 'by_test', 'terms', CASE k WHEN 1 THEN now() END, CASE k WHEN 1 THEN 'by_test' END
        FROM customers(n), generate_series(1, 2) AS k;
        INSERT INTO appstore.consumption_decisions (environment, transaction_id, decided_at, decided_by, origin, user_id, answer, result, settled_at)
        SELECT 'Production', n::text, '2026-01-02', 'by_test', 'decision', 'user ' || n, ROW(false, NULL, NULL, NULL, NULL, 'x', NULL)::appstore.consumption_answer, NULL, NULL
        FROM customers(n), generate_series(1, 2);
        INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, recorded_at, original_transaction_id,
                                         transaction_id, user_id)
        SELECT gen_random_uuid(), 'Production', 'granted', n::text, n, '2026-01-02', '2026-01-02'::timestamptz + n * interval '1 second', n::text,
               n::text, 'user ' || n
        FROM customers(n);
        INSERT INTO appstore.v1_renewals (environment, original_transaction_id, bundle_id, provenance, auto_renew_status, stated_at,
                                              fact_hash)
        SELECT 'Production', n::text, 'b', 'v1', 1, '2026-01-01', '\\x01' FROM customers(n);
        INSERT INTO appstore.posted_types (environment, transaction_id, product_type)
        SELECT 'Production', n::text, 'Auto-Renewable Subscription' FROM customers(n);
        INSERT INTO appstore.event_contracts (environment, original_transaction_id, event_id)
        SELECT 'Production', n::text, n FROM customers(n);
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, deadline_at, run_at, state, settled_at)
        SELECT 'verify_receipt', k || ' ' || n, 'b', n, now() + interval '1 day', now() + interval '1 hour',
               CASE k WHEN 1 THEN 'open' ELSE 'answered' END, CASE k WHEN 2 THEN now() END
        FROM customers(n), generate_series(1, 2) AS k;
        INSERT INTO appstore.api_budgets (bundle_id, environment, endpoint, setting, tokens)
        SELECT 'b ' || n, 'Production', 'consumption', 40, 40 FROM customers(n);
        INSERT INTO appstore.history_records (environment, notification_uuid, bundle_id, class, is_open, mode, event_id, window_id, listed_at, attempts)
        SELECT 'Production', gen_random_uuid(), 'b', 'recovered', n % 2 = 0, 'walk', n, 1, now() - interval '1 day', 1 FROM customers(n);
        INSERT INTO appstore.import_items (import_id, line, environment, is_given, id, user_id)
        SELECT 1, n, 'Production', false, n::text, 'user ' || n FROM customers(n);
        INSERT INTO appstore.import_tokens (import_id, line, id, user_id, token, error)
        SELECT 1, n, n::text, 'user ' || n, gen_random_uuid(), 'token_of_order' FROM customers(n);
        INSERT INTO appstore.customer_revisions (environment, original_transaction_id, revision) SELECT 'Production', n::text, 'r' FROM customers(n);
        INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, since, next_at)
        SELECT 'Production', n::text, 'in_retry', 'b', '2026-02-01', now() + interval '1 day' FROM customers(n);
        INSERT INTO appstore.reconcile_questions (environment, original_transaction_id, bundle_id, rule, app_transaction_id, asked_at, call_id, result, settled_at)
        SELECT 'Production', n::text, 'b', 'sample', 'app ' || n, now() - interval '2 days', n, 'same', now() - interval '2 days' FROM customers(n);
        INSERT INTO appstore.feed (position, id, type, environment, bundle_id, subject, occurred_at, told_at, data)
        SELECT h.position + row_number() OVER (ORDER BY n), gen_random_uuid(), 'effect.granted', 'Production', 'b', n::text, now(), now(), '{}'
        FROM appstore.feed_head AS h, customers(n);
        UPDATE appstore.feed_head SET position = (SELECT max(position) FROM appstore.feed);
        INSERT INTO appstore.open_deliveries (endpoint, position, subject, run_at, attempts, first_failed_at, given_up_at)
        SELECT 'e1', f.position, f.subject, CASE f.position % 2 WHEN 0 THEN 'infinity' ELSE now() + interval '1 day' END, f.position % 2,
               CASE f.position % 2 WHEN 1 THEN now() END, CASE f.position % 10 WHEN 0 THEN now() END
        FROM appstore.feed AS f, customers(n) WHERE f.subject = n::text AND f.type = 'effect.granted' ON CONFLICT DO NOTHING;
        INSERT INTO appstore.delivery_attempts (endpoint, position, subject, at, is_redelivery, result, answer)
        SELECT 'e1', n, n::text, now() - interval '2 days', false, CASE n % 2 WHEN 0 THEN 'failed' ELSE 'delivered' END, CASE n % 2 WHEN 0 THEN 'no' END
        FROM customers(n);
        INSERT INTO appstore.external_purchase_tokens (environment, external_purchase_id, bundle_id, token_creation_date, subtype, signed_date,
            payload_hash, last_event_id, first_signed_date, first_event_id, reported_at, reported_by)
        SELECT 'Production', 'token ' || n, 'b', now() - interval '30 days' + n * interval '1 minute', 'CREATED', '2026-01-01', '\\x01', n,
               '2026-01-01', n, report.at, CASE WHEN report.at IS NOT NULL THEN 'by_test' END
        FROM customers(n), LATERAL (SELECT CASE n % 2 WHEN 1 THEN now() END AS at) AS report;
        INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
        SELECT 'Production', gen_random_uuid(), n FROM customers(n);

        INSERT INTO appstore.inbox (event_id, source, received_at, body)
        SELECT n + k * 2000000000, CASE WHEN k = 0 THEN 'client_transaction' ELSE 'notification_v2' END, now() - interval '90 days',
               convert_to('{"user": "user ' || n || '"}', 'UTF8')
        FROM customers(n), generate_series(0::bigint, 2) AS k
        UNION ALL
        SELECT 1000000000 + n, 'notification_v2', now() - interval '90 days', '\\x01' FROM customers(n);
        INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes)
        SELECT n + k * 2000000000, now() + CASE WHEN k = 2 AND n % 100 = 0 THEN interval '0' ELSE interval '1 day' END, 1, 20
        FROM customers(n), generate_series(1::bigint, 2) AS k;
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, environment,
                                       original_transaction_id)
        SELECT n, 'client_transaction', now() - interval '90 days', now() - interval '90 days' + n * interval '1 second', 2, 1,
               (CASE n % 2 WHEN 0 THEN 'rejected' ELSE 'failed' END)::appstore.result, 'by_test',
               CASE n % 2 WHEN 0 THEN NULL ELSE 'Production' END, CASE n % 2 WHEN 0 THEN NULL ELSE n::text END
        FROM customers(n)
        UNION ALL
        SELECT e + n, 'notification_v2', now() - interval '90 days', now() - interval '90 days', 1, 1, 'applied', NULL, 'Production', NULL
        FROM customers(n), (VALUES (3000000), (1000000000)) AS t (e);
        INSERT INTO appstore.outcome_history (event_id, source, received_at, settled_at, run, attempts, result, reason, replaced_at, replaced_by)
        SELECT o.event_id, o.source, o.received_at, o.settled_at, 1, 1, 'failed', 'by_test', now() - interval '90 days', 'by_test'
        FROM appstore.outcomes AS o WHERE o.run = 2 AND o.event_id IN (SELECT n FROM customers(n));
        INSERT INTO appstore.audit_log (at, actor, action, event_ids) SELECT now(), 'by_test', 'requeue', ARRAY[n] FROM customers(n);
        INSERT INTO appstore.feed (position, id, type, environment, bundle_id, subject, user_id, occurred_at, told_at, data)
        SELECT h.position + row_number() OVER (ORDER BY n), gen_random_uuid(), 'access.changed', 'Production', 'b', n::text, 'user ' || n, now(),
               '2026-01-02'::timestamptz + n * interval '1 second', '{}'
        FROM customers(n), appstore.feed_head AS h;
        UPDATE appstore.feed_head SET position = (SELECT max(f.position) FROM appstore.feed AS f);
        INSERT INTO appstore.api_keys (name, key_hash, environments, verbs)
        SELECT 'k', sha256(convert_to(n::text, 'UTF8')), '{Production}',
               '{orders:create,orders:read,transactions:submit,receipts:submit,events:read,entitlements:read,subscriptions:read,contracts:link,feed:read,feed:consume,'
               'consumption:read,consumption:answer,consents:write,inquiries:make,contracts:extend,contracts:set-token}'
        FROM customers(n);
        """.writingNumbers
}

extension String {
    /// With `no(n)` and `no(n + 5)` written out as the UUIDs of ``PlanScene/token(_:)``.
    fileprivate var writingNumbers: String {
        replacing(#/no\(n( \+ [0-9]+)?\)/#) { match in
            "('00000000-0000-4000-8000-' || lpad((n\(match.output.1 ?? ""))::text, 12, '0'))::uuid"
        }
    }
}
