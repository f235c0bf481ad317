import Postgres

/// The records of an installation that has run for a hundred days, for the pages of the console.
///
/// Event ids begin with ``first``. Outcomes are partitioned by four days; the last three days have their bodies.
struct ConsoleRecords: Sendable {
    let outcomes: Int

    static let first: Int64 = 10_000_000
    private static let step = 500_000

    /// The id of the last event of the hundred days.
    var last: Int64 { Self.first + Int64(outcomes) - 1 }

    /// Fills a database that is empty.
    func fill(on connection: Connection, progress: (String) -> Void) async throws {
        try await connection.execute("SET synchronous_commit = off")
        try await connection.execute(
            "CREATE TEMPORARY TABLE bench AS SELECT now() AS begun, \(Self.first)::bigint AS first, \(Int64(outcomes))::bigint AS events"
        )
        try await connection.runScript(Self.partitions)
        try await DeferredIndexes.run(of: SettledLedger.tables + ["appstore.feed", "appstore.delivery_attempts"], on: connection) {
            for start in stride(from: 0, to: outcomes, by: Self.step) {
                try Task.checkCancellation()
                try await connection.execute(Self.settled(from: Int64(start), to: Int64(min(start + Self.step, outcomes))))
            }
            progress("making the ledger")
            try await addLedger(SettledLedger.view(of: "appstore.outcomes"), on: connection)
            try await connection.runScript(Self.ofCharges)
            for customer in [Self.loyal, Self.player] {
                try await addLedger(customer, on: connection)
                try await connection.runScript(Self.eventsOfCharges)
            }
            try await connection.runScript(Self.feed)
        }
        progress("making everything else")
        for script in [Self.inbox, Self.operations, Self.apple] { try await connection.runScript(script) }
        try await connection.execute("VACUUM ANALYZE")
    }

    private func addLedger(_ view: String, on connection: Connection) async throws {
        try await connection.runScript(view)
        for insertion in SettledLedger.insertions(after: 0) {
            try Task.checkCancellation()
            try await connection.execute(insertion)
        }
    }
}

/// Scripts. The table `bench` says when and how much.
extension ConsoleRecords {
    private static let partitions = """
        DO $do$
        DECLARE
            v_size  bigint := (SELECT greatest(events / 25, 1000) FROM bench);
            v_first bigint := (SELECT first FROM bench);
        BEGIN
            ALTER TABLE appstore.inbox DETACH PARTITION appstore.inbox_rest;
            ALTER TABLE appstore.outcomes DETACH PARTITION appstore.outcomes_rest;
            FOR n IN 0..29 LOOP
                EXECUTE format('CREATE TABLE appstore.outcomes_from_%1$s PARTITION OF appstore.outcomes FOR VALUES FROM (%1$s) TO (%2$s)',
                               v_first + n * v_size, v_first + (n + 1) * v_size);
                CONTINUE WHEN n < 24;
                EXECUTE format('CREATE TABLE appstore.inbox_from_%1$s PARTITION OF appstore.inbox FOR VALUES FROM (%1$s) TO (%2$s)',
                               v_first + n * v_size, v_first + (n + 1) * v_size);
            END LOOP;
            EXECUTE format('ALTER TABLE appstore.inbox ATTACH PARTITION appstore.inbox_rest FOR VALUES FROM (%s) TO (MAXVALUE)',
                           v_first + 30 * v_size);
            EXECUTE format('ALTER TABLE appstore.outcomes ATTACH PARTITION appstore.outcomes_rest FOR VALUES FROM (%s) TO (MAXVALUE)',
                           v_first + 30 * v_size);
            UPDATE appstore.retention SET bodies = '32 days', partition_events = v_size;
            PERFORM setval('appstore.inbox_event_id', v_first + 28 * v_size);
        END
        $do$;
        """

    /// Outcomes in the order of arrival. Some thousands need attention; one type and one app are rare.
    private static func settled(from: Int64, to: Int64) -> Statement {
        """
        WITH settled AS (
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error,
                                           notification_type, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id)
            SELECT b.first + n, 'notification_v2', e.at, e.at + interval '20 milliseconds', 1, 1, e.result::appstore.result, e.reason,
                   CASE e.result WHEN 'failed' THEN 'deadlock detected (SQLSTATE 40P01)' END,
                   CASE WHEN n % 100000 = 7 THEN 'PRICE_INCREASE' WHEN n % 100 = 0 THEN 'REFUND'
                        WHEN n % 2 = 0 THEN 'DID_RENEW' ELSE 'DID_CHANGE_RENEWAL_STATUS' END,
                   md5('notification ' || b.first + n)::uuid, CASE WHEN e.result <> 'rejected' THEN 'Production' END,
                   CASE WHEN n % 50000 = 9 THEN 'com.example.rare' ELSE 'com.example.bench' END,
                   (100000000000000 + (b.first + n) / 2 * 2)::text, (100000000000000 + (b.first + n) / 12 * 12)::text
            FROM bench AS b
            CROSS JOIN generate_series(\(from), \(to) - 1) AS n
            CROSS JOIN LATERAL (
                SELECT b.begun - (b.events - n) * (interval '100 days' / b.events) AS at, r.result, r.reason
                FROM (VALUES (n % 5000 = 10, 'failed', 'merge_failed'), (n % 2000 = 21, 'rejected', 'wrong_bundle'),
                             (n % 2500 = 32, 'unhandled', 'unknown_type'), (n % 20000 = 43, 'discarded', 'junk'),
                             (n % 40 = 4, 'duplicate', NULL), (true, 'applied', NULL)) AS r (is_so, result, reason)
                WHERE r.is_so LIMIT 1
            ) AS e
            RETURNING event_id, notification_uuid, result
        )
        INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
        SELECT 'Production', s.notification_uuid, s.event_id FROM settled AS s WHERE s.result <> 'rejected'
        """
    }

    /// A customer with 520 weekly charges of one contract.
    private static let loyal = customer("the loyal", contracts: 1, charges: 520, after: 0)
    /// A customer with a hundred contracts.
    private static let player = customer("the player", contracts: 100, charges: 2, after: 600)

    /// The view of charges of one customer, whose events follow those of the hundred days.
    private static func customer(_ name: String, contracts: Int, charges: Int, after: Int) -> String {
        """
        CREATE OR REPLACE TEMPORARY VIEW charge AS
        SELECT e.event_id, e.place = 0 AS is_first, (100000000000000 + e.event_id)::text AS id,
               (100000000000000 + e.event_id - e.place)::text AS contract, (100000000000000 + e.event_id - e.place + \(charges) - 1)::text AS last,
               e.paid_at, e.paid_at + (\(charges) - e.place) * interval '7 days' AS paid_until, md5('period ' || e.event_id)::uuid AS period,
               md5('token ' || e.event_id - e.place)::uuid AS token,
               md5(CASE e.place WHEN 0 THEN 'token ' ELSE 'period ' END || e.event_id)::uuid AS order_no, '\(name)' AS user_id
        FROM (
            SELECT b.first + b.events + \(after) + contract * \(charges) + place AS event_id, place,
                   b.begun - contract * interval '1 day' - (\(charges) - 1 - place) * interval '7 days' AS paid_at
            FROM bench AS b, generate_series(0, \(contracts) - 1) AS contract, generate_series(0, \(charges) - 1) AS place
        ) AS e;
        """
    }

    private static let eventsOfCharges = """
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, notification_type, notification_uuid,
                                       environment, bundle_id, transaction_id, original_transaction_id)
        SELECT c.event_id, 'notification_v2', c.paid_at, c.paid_at, 1, 1, 'applied', 'DID_RENEW', md5('notification ' || c.event_id)::uuid,
               'Production', 'com.example.bench', c.id, c.contract
        FROM charge AS c;
        """

    /// What came with some of the charges: posts of clients, links of owners, and Apple's questions, of which some wait for an answer.
    private static let ofCharges = """
        INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict)
        SELECT 'Production', c.contract, 'poster ' || c.event_id, false, c.id, c.paid_at, c.event_id,
               CASE WHEN c.event_id % 12000 = 0 THEN 'owner_conflict' END
        FROM charge AS c WHERE c.event_id % 120 = 0;
        INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor, note)
        SELECT 'Production', c.contract, c.paid_at, 'linked ' || c.event_id, 'support', 'ticket ' || c.event_id
        FROM charge AS c WHERE c.event_id % 1200 = 0;
        INSERT INTO appstore.refund_requests (environment, notification_uuid, kind, transaction_id, original_transaction_id, reason, signed_date)
        SELECT 'Production', md5('asked ' || c.event_id)::uuid, 'asked', c.id, c.contract, 'UNINTENDED_PURCHASE', c.paid_at
        FROM charge AS c WHERE c.event_id % 600 = 0;
        INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at, reason, outcome, outcome_at)
        SELECT 'Production', c.id, c.contract, asked.at, asked.at + interval '12 hours', 'UNINTENDED_PURCHASE',
               CASE WHEN NOT asked.waits THEN 'declined' END, CASE WHEN NOT asked.waits THEN asked.at + interval '1 day' END
        FROM charge AS c CROSS JOIN bench AS b
        CROSS JOIN LATERAL (SELECT c.event_id % 60000 = 0 AS waits) AS w
        CROSS JOIN LATERAL (SELECT w.waits, CASE WHEN w.waits THEN b.begun - interval '1 hour' ELSE c.paid_at - interval '2 days' END AS at) AS asked
        WHERE c.event_id % 600 = 0;
        INSERT INTO appstore.consumption_policies (bundle_id, mode) VALUES ('com.example.bench', 'backend');
        """

    /// The feed of the last ten days, with five endpoints, of which one has failed for long.
    private static let feed = """
        UPDATE appstore.feed_switch SET is_on = true;
        INSERT INTO appstore.feed_generations VALUES (1, 1, now(), true);
        DO $do$
        DECLARE
            v_entries bigint := (SELECT events / 10 FROM bench);
        BEGIN
            FOR n IN 0..9 LOOP
                EXECUTE format('CREATE TABLE appstore.feed_part_%s PARTITION OF appstore.feed FOR VALUES FROM (%s) TO (%s)', n,
                               1 + n * (v_entries / 10), CASE n WHEN 9 THEN v_entries + 1000000 ELSE 1 + (n + 1) * (v_entries / 10) END);
            END LOOP;
            UPDATE appstore.feed_head SET generation = 1, position = v_entries, partition_from = 1 + 9 * (v_entries / 10),
                                          partition_to = v_entries + 1000000, partition_since = now(), cluster = appstore.feed_cluster();
        END
        $do$;
        INSERT INTO appstore.feed (position, id, type, environment, bundle_id, subject, user_id, occurred_at, told_at, data)
        SELECT n, md5('entry ' || n)::uuid, 'effect.granted', 'Production', 'com.example.bench', (100000000000000 + (b.first + n * 10) / 12 * 12)::text,
               'user ' || (b.first + n * 10) / 12, at, at, '{"effect": {"kind": "granted", "product_id": "pro.monthly"}}'
        FROM bench AS b CROSS JOIN generate_series(1, b.events / 10) AS n
        CROSS JOIN LATERAL (SELECT b.begun - (b.events / 10 - n) * (interval '10 days' / (b.events / 10)) AS at) AS told;
        INSERT INTO appstore.endpoints (name, url, format, with_wrong_bundle, keeps_order, max_in_flight, timeout_seconds, position, failing_since,
                                        failures, open_until, last_error, succeeded_at)
        SELECT 'e' || n, 'https://example.com/' || n, 'event', false, true, 8, 15, b.events / 10 - CASE n WHEN 1 THEN b.events / 100 ELSE n END,
               CASE n WHEN 1 THEN b.begun - interval '1 day' END, CASE n WHEN 1 THEN 4711 ELSE 0 END,
               CASE n WHEN 1 THEN b.begun + interval '1 hour' END, CASE n WHEN 1 THEN 'HTTP 503' END, b.begun - interval '1 day'
        FROM bench AS b, generate_series(1, 5) AS n;
        INSERT INTO appstore.open_deliveries (endpoint, position, subject, run_at, attempts, first_failed_at, last_status, last_error, given_up_at)
        SELECT 'e1', n, n::text, b.begun + interval '1 day', 5, b.begun - interval '1 day', 503, 'HTTP 503',
               CASE n % 2 WHEN 0 THEN b.begun - interval '1 hour' END
        FROM bench AS b, generate_series(1, least(b.events / 20, 25000)) AS n;
        INSERT INTO appstore.delivery_attempts (endpoint, position, subject, at, is_redelivery, result, status, milliseconds, answer, error)
        SELECT 'e' || 1 + n % 5, n, n::text, b.begun - (b.events / 10 - n) * (interval '3 days' / (b.events / 10)), false,
               CASE n % 5 WHEN 0 THEN 'failed' ELSE 'delivered' END, CASE n % 5 WHEN 0 THEN 503 ELSE 200 END, 20,
               CASE n % 5 WHEN 0 THEN repeat('busy ', 20) END, CASE n % 5 WHEN 0 THEN 'HTTP 503' END
        FROM bench AS b, generate_series(1, b.events / 10) AS n;
        INSERT INTO appstore.feed_consumers (name, position, moved_at)
        SELECT 'consumer.' || n, b.events / 10 - n * 1000, b.begun FROM bench AS b, generate_series(1, 5) AS n;
        """

    /// The bodies of the last three days, and events that wait for another attempt.
    private static let inbox = """
        INSERT INTO appstore.inbox (event_id, source, received_at, body)
        SELECT o.event_id, o.source, o.received_at, convert_to('{"signedPayload":"' || repeat('x', 1000) || '"}', 'UTF8')
        FROM bench AS b JOIN appstore.outcomes AS o ON o.event_id >= b.first + b.events - b.events / 33;
        WITH waiting AS (
            INSERT INTO appstore.inbox (event_id, source, received_at, body)
            SELECT b.first + b.events + 1000 + n, 'notification_v2', b.begun - interval '1 hour', convert_to('{"signedPayload":"x"}', 'UTF8')
            FROM bench AS b, generate_series(1, 3000) AS n
            RETURNING event_id, received_at
        )
        INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes, last_error)
        SELECT w.event_id, b.begun + CASE w.event_id % 3 WHEN 0 THEN interval '0' ELSE interval '1 day' END, 3, 21, 'deadlock detected'
        FROM waiting AS w, bench AS b;
        """

    /// What operators did: an audit log with some repairs of a thousand events.
    private static let operations = """
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
        SELECT b.begun - (100000 - n) * interval '1 minute', 'operator ' || n % 7, CASE WHEN n % 1000 = 1 THEN 'forget' ELSE 'requeue' END,
               ARRAY(SELECT b.first + (n * 97 + k) % b.events FROM generate_series(1, CASE n % 100 WHEN 0 THEN 1000 ELSE 1 END) AS k), 'ticket ' || n,
               '{"result": "failed"}'
        FROM bench AS b, generate_series(1, 100000) AS n;
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
        SELECT b.begun, 'operator ' || n, 'show_body', ARRAY[b.first + b.events - 1], 'ticket ' || n FROM bench AS b, generate_series(1, 200) AS n;
        INSERT INTO appstore.outcome_history
        SELECT o.settled_at, 'operator 1', o.* FROM bench AS b JOIN appstore.outcomes AS o ON o.event_id = b.first + b.events - 1;
        INSERT INTO appstore.repairs (action, filter, note, actor, asked_at, expected, state, repaired, ended_at)
        SELECT 'requeue', jsonb_populate_record(NULL::appstore.repair_filter, '{"result": "failed"}'), 'ticket ' || n, 'operator', b.begun, 100, 'done', 100, b.begun
        FROM bench AS b, generate_series(1, 300) AS n;
        INSERT INTO appstore.console_sessions (session_hash, person, role, shows_bodies, began_at, expires_at)
        SELECT sha256(convert_to('session ' || n, 'UTF8')), 'operator ' || n % 7, 'operator', false, b.begun - interval '1 day', b.begun - interval '12 hours'
        FROM bench AS b, generate_series(1, 300) AS n;
        """

    /// What is asked of Apple: the history of eight apps, budgets, calls, and imports, of which one runs.
    private static let apple = """
        INSERT INTO appstore.history_cursors (bundle_id, environment, since, anchor, near_until, second_until, covered)
        SELECT 'com.example.' || n, e.e, b.begun - interval '100 days', b.begun - interval '1 hour', b.begun, b.begun,
               tstzmultirange(tstzrange(b.begun - interval '100 days', b.begun - interval '1 hour'))
        FROM bench AS b, generate_series(1, 4) AS n, unnest(enum_range(NULL::appstore.environment)) AS e (e);
        INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at, state, closed_at)
        SELECT c.bundle_id, c.environment, 'near', b.begun - n * interval '15 minutes', b.begun - (n - 1) * interval '15 minutes',
               CASE WHEN n > 3 THEN 'done' ELSE 'open' END, CASE WHEN n > 3 THEN b.begun END
        FROM bench AS b, appstore.history_cursors AS c, generate_series(1, 3000) AS n;
        INSERT INTO appstore.history_counts (bundle_id, environment, mode, class, records)
        SELECT c.bundle_id, c.environment, 'walk', k, 1000000
        FROM appstore.history_cursors AS c, unnest('{confirmed,recovered,taken_elsewhere,refused_here,in_flight,unlisted}'::text[]) AS k;
        INSERT INTO appstore.api_budgets (bundle_id, environment, endpoint, setting, tokens, used_this_hour)
        SELECT c.bundle_id, c.environment, 'endpoint_' || n, 40, 40, 1000 FROM appstore.history_cursors AS c, generate_series(97, 106) AS n;
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, deadline_at, run_at, state, settled_at)
        SELECT 'verify_receipt', 'call ' || n, 'com.example.bench', b.first + n * 10, b.begun, b.begun, 'answered', b.begun
        FROM bench AS b, generate_series(1, b.events / 100) AS n;
        INSERT INTO appstore.imports (bundle_id, depth, file_name, file_sha256, state, made_by, ended_at, items, last_line, next_line, found)
        SELECT 'com.example.1', 'history', 'users ' || n || '.csv', sha256(convert_to(n::text, 'UTF8')), CASE n WHEN 12 THEN 'running' ELSE 'done' END, 'operator',
               CASE WHEN n < 12 THEN b.begun END, 1000000, 1000000, 1000001, 0
        FROM bench AS b, generate_series(1, 12) AS n;
        INSERT INTO appstore.import_chunks (import_id, first_line, end_line, phase, environment, found)
        SELECT i.import_id, 1 + n * 200, 201 + n * 200, 'ask', 'Production', 10
        FROM appstore.imports AS i, generate_series(0, 4999) AS n WHERE i.state = 'running';
        INSERT INTO appstore.import_rates (import_id, at, settled)
        SELECT i.import_id, b.begun - n * interval '10 seconds', 300 FROM bench AS b, appstore.imports AS i, generate_series(1, 60) AS n;
        """
}
