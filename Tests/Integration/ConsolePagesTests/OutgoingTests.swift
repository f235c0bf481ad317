import HTTPServingTesting
import InboxTesting
import Postgres
import Testing

struct OutgoingTests {
    private static let endpoint = """
        SELECT appstore.enable_feed();
        SELECT appstore.make_endpoint('crm', 'https://example.com/hook');
        SELECT appstore.set_consumer('mailer');
        INSERT INTO appstore.delivery_attempts (endpoint, position, at, is_redelivery, result, status, milliseconds, error)
        SELECT 'crm', n, now() - (100 - n) * interval '1 second', false, 'failed', 500, n, 'error ' || n FROM generate_series(1, 90) AS n;
        INSERT INTO appstore.api_budgets (bundle_id, environment, endpoint, setting, tokens, blocked_until)
        VALUES ('com.example.shop', 'Production', 'transaction_history', 40, 40, now() + interval '1 hour');
        """

    @Test func `endpoints, consumers and budgets are those of the views`() async throws {
        try await ConsoleScene.run(Self.endpoint) { scene in
            let page = try await scene.get("/outgoing", as: .viewer)
            #expect(page.status == 200)
            #expect(page.table("Endpoints")?.first?.first == "crm")
            #expect(page.table("Named consumers")?.first?.first == "mailer")
            #expect(page.table("Budgets")?.first?.contains { $0.contains("open until") } == true)
            #expect(page.body.utf8.count <= 40_960)
        }
    }

    @Test func `attempts are read page by page`() async throws {
        try await ConsoleScene.run(Self.endpoint) { scene in
            var target: String? = "/outgoing/crm"
            var errors: [String] = []
            while let next = target {
                let page = try await scene.get(next, as: .viewer)
                #expect(page.body.utf8.count <= 40_960, "\(page.body.utf8.count) bytes")
                errors += page.table("Attempts")?.map { $0[6] } ?? []
                target = page.older
            }
            #expect(errors == (1...90).reversed().map { "error \($0)" })
        }
    }

    @Test func `an endpoint is tested, paused and enabled`() async throws {
        try await ConsoleScene.run(Self.endpoint) { scene in
            #expect(try await scene.post("/outgoing/crm/test", []).status == 303)
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.tells WHERE kind = 'test'") == "1")
            #expect(try await scene.post("/outgoing/crm/pause", []).status == 400)
            #expect(try await scene.post("/outgoing/crm/pause", [("note", "they moved")]).status == 303)
            #expect(try await scene.value("SELECT concat_ws('|', state, why) FROM appstore.endpoints") == "paused|they moved")
            #expect(try await scene.post("/outgoing/crm/enable", []).status == 303)
            #expect(try await scene.value("SELECT state FROM appstore.endpoints") == "enabled")
            let audit = try await scene.database.lines(
                "SELECT DISTINCT actor FROM appstore.audit_log WHERE action ~ '_endpoint$' AND action <> 'make_endpoint'"
            )
            #expect(audit == ["postgres"])
        }
    }
}
