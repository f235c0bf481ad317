import HTTPServingTesting
import Postgres
import Testing

@testable import Console

/// Pages about something that has hundreds of rows, with texts that are as long as they can be and need four times the bytes as markup.
struct LimitTests {
    /// A hundred and twenty rows of everything that is about user alice and event 700.
    private static let many =
        Story.customer + """
            UPDATE appstore.outcomes SET run = 121, reason = wide() WHERE event_id = 700;
            INSERT INTO appstore.outcome_history
            SELECT now(), wide(), 700, 'notification_v2', now(), now(), n, 1, 'failed', wide(), wide(), 'REFUND', NULL, NULL, 'Production', 'b', '700', '700'
            FROM rows(120);
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                             product_id, user_id)
            SELECT gen_random_uuid(), 'Production', 'granted', 'effect ' || n, 700, now() - n * interval '1 minute', '700', '700', wide(), wide()
            FROM rows(120);
            INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
            SELECT now(), wide(), 'requeue', '{700}', repeat(wide(), 10), jsonb_build_object('x', repeat(wide(), 10)) FROM rows(120);
            INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id)
            SELECT 'Production', '700', left(n || wide(), 255), false, '700', now() - n * interval '1 minute', 1000 + n FROM rows(120);
            INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor, note)
            SELECT 'Production', '700', now() - n * interval '1 minute', wide(), wide(), wide() FROM rows(120);
            INSERT INTO appstore.ownership_claims (environment, original_transaction_id, kind, source_id, user_id, effective_at)
            SELECT 'Production', '700', 'client', n || wide(), wide(), now() - n * interval '1 minute' FROM rows(120);
            INSERT INTO appstore.event_contracts (environment, original_transaction_id, event_id) SELECT 'Production', 'c' || n, 700 FROM rows(120);
            INSERT INTO appstore.contracts (environment, original_transaction_id, user_id, bundle_id, product_id)
            SELECT 'Production', 'c' || n, 'alice', wide(), wide() FROM rows(120);
            INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, ordered_at)
            SELECT 'Production', gen_random_uuid(), 'alice', wide(), now() - n * interval '1 minute' FROM rows(120);
            INSERT INTO appstore.refund_requests (environment, notification_uuid, kind, transaction_id, original_transaction_id, reason, signed_date)
            SELECT 'Production', gen_random_uuid(), 'asked', '700', '700', wide(), now() FROM rows(120);
            INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, deadline_at, last_reason)
            SELECT 'verify_receipt', 'call ' || n, wide(), 700, now(), wide() FROM rows(120);
            """

    /// A hundred and twenty rows of everything that goes out.
    private static let outgoing = """
        INSERT INTO appstore.endpoints (name, url, format, with_wrong_bundle, keeps_order, max_in_flight, timeout_seconds, position, state, why, last_error)
        SELECT 'e' || n, 'https://example.com/' || wide(), 'event', false, true, 8, 15, 0, 'paused', wide(), wide() FROM rows(120);
        INSERT INTO appstore.open_deliveries (endpoint, position, subject, run_at, attempts, first_failed_at, last_error)
        SELECT 'e1', n, wide(), now(), 1, now(), wide() FROM rows(120);
        INSERT INTO appstore.delivery_attempts (endpoint, position, at, is_redelivery, result, answer, error)
        SELECT 'e1', n, now(), false, 'failed', wide(), wide() FROM rows(120);
        INSERT INTO appstore.feed_consumers (name, position, moved_at) SELECT 'c' || n, 0, now() FROM rows(120);
        INSERT INTO appstore.history_cursors (bundle_id, environment, since, anchor, near_until, second_until)
        SELECT n || wide(), 'Production', now(), now(), now(), now() FROM rows(120);
        INSERT INTO appstore.api_budgets (bundle_id, environment, endpoint, setting, tokens)
        SELECT n || wide(), 'Production', 'consumption', 40, 40 FROM rows(120);
        INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at, reason)
        SELECT 'Production', n::text, n::text, now(), now() + interval '12 hours', wide() FROM rows(120);
        INSERT INTO appstore.imports (bundle_id, depth, file_name, file_sha256, state, made_by)
        SELECT 'b', 'history', wide(), sha256('f'), 'running', 'by_test' FROM rows(120);
        """

    /// A hundred and twenty repairs and sessions.
    private static let operators = """
        INSERT INTO appstore.repairs (action, filter, note, actor, expected, state, ended_at, last_error)
        SELECT 'requeue', jsonb_populate_record(NULL::appstore.repair_filter, jsonb_build_object('reason', wide())), wide(), wide(), 1, 'failed', now(), wide()
        FROM rows(120);
        INSERT INTO appstore.console_sessions (session_hash, person, role, shows_bodies, began_at, expires_at)
        SELECT sha256(convert_to(n::text, 'UTF8')), repeat('<', 63), 'operator', true, now(), now() + interval '1 hour' FROM rows(120);
        """

    /// 60 kB with the files that each page loads.
    private static let budget = 60 * 1024 - Assets().all.reduce(0) { $0 + $1.bytes.count }

    private static func script(_ text: String) -> String {
        text.replacing("rows(120)", with: "generate_series(1, 120) AS n").replacing("wide()", with: "repeat('<b>', 84)")
    }

    @Test(arguments: [
        ("/events/700", ["… and 115 more", "… and 116 more", "… and 113 more", "… and 118 more"]),
        ("/customers/contracts/700", ["more: see"]),
        ("/customers/users/alice", ["+ more"]), ("/audit", []),
    ])
    func `a page about much is small, and says how much it leaves out`(target: String, words: [String]) async throws {
        try await ConsoleScene.run(Self.script(Self.many)) { scene in
            let page = try await scene.get(target)
            #expect(page.status == 200)
            #expect(page.body.utf8.count <= Self.budget, "\(page.body.utf8.count) bytes")
            for words in words { #expect(page.text.contains(words), "\(words)") }
        }
    }

    @Test(arguments: [
        ("/outgoing", ["… and 108 more", "… and 110 more", "… and 112 more", "… and 115 more"]), ("/outgoing/e1", ["… and 110 more"]),
        ("/attention", ["… and 100 more"]),
    ])
    func `so is one of what goes out`(target: String, words: [String]) async throws {
        try await ConsoleScene.run(Self.script(Self.outgoing)) { scene in
            let page = try await scene.get(target)
            #expect(page.status == 200)
            #expect(page.body.utf8.count <= Self.budget, "\(page.body.utf8.count) bytes")
            for words in words { #expect(page.text.contains(words), "\(words)") }
        }
    }

    @Test(arguments: [("/repairs", "Repairs", 120), ("/sessions", "Sessions", 122)])
    func `a long list is read page by page`(target: String, caption: String, count: Int) async throws {
        try await ConsoleScene.run(Self.script(Self.operators)) { scene in
            var next: String? = target
            var rows: [String?] = []
            while let target = next {
                let page = try await scene.get(target)
                #expect(page.body.utf8.count <= Self.budget, "\(page.body.utf8.count) bytes")
                rows += page.table(caption)?.map(\.first) ?? []
                next = page.older
            }
            #expect(rows.count == count && Set(rows).count == count)
        }
    }

    @Test func `a character of many scalars is cut, too`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            try await scene.database.run("UPDATE appstore.outcomes SET reason = 'x' || repeat(U&'\\0301', 100000) WHERE event_id = 100")
            #expect(try await scene.get("/events").body.utf8.count <= 40_960)
        }
    }
}
