import HTTPServingTesting
import Testing

/// Addresses that people or their bookmarks send, and those that pages link to.
struct AddressTests {
    @Test(arguments: [
        "/events?after=9223372036854775807.1", "/events?after=-9223372036854775808.1", "/reports?first=0000-01-01",
        "/reports?first=0001-01-01&last=9999-12-31&report=subscriptions",
    ])
    func `what is out of range is said in words`(_ target: String) async throws {
        try await ConsoleScene.run { scene in
            let answer = try await scene.get(target, as: .viewer)
            #expect([400, 409].contains(answer.status), "\(answer.text)")
        }
    }

    @Test func `the other environment of a page keeps its query, and the answer to a form leads to a page`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let report = try await scene.get("/reports?report=churn&by=app&environment=Sandbox", as: .viewer)
            #expect(report.body.contains(#"href="/reports?by=app&amp;report=churn&amp;environment=Production""#))
            let body = try await scene.post("/events/10/body", [("note", "ticket 7")])
            #expect(!body.body.contains("/events/10/body?") && body.body.contains(#"href="/events?environment=Sandbox""#))
        }
    }

    @Test func `a case of Attention leads to its contract, and a confirmation has the whole name`() async throws {
        let contract = """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, expires_date, in_app_ownership_type, signed_date, first_signed_date, payload_hash, period_no, is_subscription)
            VALUES ('Production', '701', '701', 'com.example.shop', 'pro.monthly', 'Auto-Renewable Subscription', now() - interval '3 days',
                    now() + interval '27 days', 'PURCHASED', now(), now(), '\\x01', gen_random_uuid(), true);
            SELECT appstore.derive_ledger('Production', ARRAY['701'], ARRAY['701']);
            INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, ordered_at)
            VALUES ('Production', '00000000-0000-4000-8000-000000000002', '701', 'pro.monthly', now());
            """
        try await ConsoleScene.run(contract) { scene in
            let page = try await scene.get("/attention", as: .viewer)
            #expect(page.body.contains(#"href="/customers/contracts/701""#), "\(page.text)")
            let name = String(repeating: "a", count: 130)
            let question = try await scene.post("/customers/contracts/701/link", [("user", name), ("note", "x")])
            #expect(question.text.contains("From now on it belongs to “\(name)”"))
        }
    }

    @Test func `what arrived counts also while nothing is settled`() async throws {
        let waiting = """
            INSERT INTO appstore.inbox (event_id, source, received_at, body)
            SELECT n, 'notification_v2', now() - interval '10 minutes', 'x' FROM generate_series(501, 550) AS n;
            INSERT INTO appstore.inbox_queue (event_id, run_at, bytes, run) SELECT n, now(), 1, 1 FROM generate_series(501, 550) AS n;
            """
        try await ConsoleScene.run(Story.events + waiting) { scene in
            let minutes = try await scene.get("/", as: .viewer).table("Events a minute") ?? []
            #expect(minutes.compactMap { Int($0[1]) }.reduce(0, +) == 150)
            #expect(minutes.compactMap { Int($0[2]) }.reduce(0, +) == 100)
        }
    }
}
