import HTTPServingTesting
import Postgres
import Testing

struct CustomerTests {
    @Test(arguments: ["/customers/users/alice", "/customers/contracts/700", "/customers?q=700", "/customers?q=alice"])
    func `a customer has entitlements, orders, owner and a timeline of two clocks`(_ target: String) async throws {
        try await ConsoleScene.run(Story.customer) { scene in
            let page = try await scene.get(target, as: .viewer)
            #expect(page.status == 200)
            let entitlement = page.table("Entitlements now")?.first
            #expect(entitlement?.first == "pro.monthly")
            #expect(entitlement?[1].contains("yes") == true)
            #expect(page.table("Orders")?.first?.contains { $0.contains("9.99") } == true)
            let claim = page.table("Owner and claims")?.first
            #expect(claim?[1] == "alice")
            #expect(claim?.contains("order") == true)
            let granted = page.table("What happened")?.first { $0[2] == "granted" }
            #expect(granted?[1].contains("late: 2 d 8 h") == true, "\(granted ?? [])")
            #expect(granted?.last == "700")
            let entries = try await scene.value("SELECT count(*)::text FROM appstore.timeline('Production', '700')")
            #expect(page.table("What happened").map { "\($0.count)" } == entries)
            #expect(page.body.utf8.count <= 40_960)
        }
    }

    @Test func `an owner is linked after a confirmation`() async throws {
        try await ConsoleScene.run(Story.customer) { scene in
            let fields = [("user", "bob"), ("note", "ticket 42")]
            let link = "/customers/contracts/700/link"
            #expect(try await scene.post(link, fields).text.contains("belongs to “alice” now"))
            #expect(try await scene.post(link, fields + [("confirmed", "yes")]).status == 303)
            #expect(try await scene.value("SELECT user_id FROM appstore.contracts") == "bob")
            #expect(try await scene.value("SELECT concat_ws('|', actor, note) FROM appstore.owner_links") == "postgres|ticket 42")
            let page = try await scene.get("/customers/contracts/700")
            #expect(page.table("Owner and claims")?.first?.last == "by postgres: ticket 42")
            #expect(try await scene.post("/customers/contracts/9/link", [("user", "bob"), ("note", "x")]).status == 404)
            let back = [("contract", "700"), ("note", "ticket 44"), ("confirmed", "yes")]
            #expect(try await scene.post("/customers/users/carol/link", back).status == 303)
            #expect(try await scene.value("SELECT user_id FROM appstore.contracts") == "carol")
        }
    }

    @Test func `a user is forgotten once, after a confirmation`() async throws {
        try await ConsoleScene.run(Story.customer) { scene in
            let fields = [("note", "ticket 43")]
            let question = try await scene.post("/customers/users/alice/forget", fields)
            #expect(question.text.contains("Forget alice?"))
            // Other users, whose names a form would make the same.
            for other in ["alice%20", "%20alice", "alice%E2%80%8F", "alice%0A"] {
                #expect(try await scene.post("/customers/users/\(other)/forget", fields + [("confirmed", "yes")]).status == 404)
            }
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.audit_log") == "0")
            #expect(try await scene.post("/customers/users/alice/forget", fields + [("confirmed", "yes")]).status == 303)
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.orders WHERE user_id = 'alice'") == "0")
            #expect(
                try await scene.value("SELECT concat_ws('|', actor, action, note) FROM appstore.audit_log") == "postgres|forget|ticket 43"
            )
            #expect(try await scene.post("/customers/users/alice/forget", fields + [("confirmed", "yes")]).status == 404)
        }
    }

    @Test func `a long timeline is read page by page`() async throws {
        let posts = """
            INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id)
            SELECT 'Production', '700', 'u' || n, false, '700', now() - n * interval '1 minute', 1000 + n FROM generate_series(1, 100) AS n;
            """
        try await ConsoleScene.run(Story.customer + posts) { scene in
            var target: String? = "/customers/contracts/700"
            var entries = 0
            while let next = target {
                let page = try await scene.get(next, as: .viewer)
                #expect(page.body.utf8.count <= 40_960, "\(page.body.utf8.count) bytes")
                entries += page.table("What happened")?.count ?? 0
                target = page.older
            }
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.timeline('Production', '700')") == "\(entries)")
        }
    }

    /// Where each charge is compared with all others, the statement ends after its five seconds.
    @Test func `a customer of sixteen years, charged every week, has a page`() async throws {
        let charges = """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, purchase_date, expires_date,
                signed_date, first_signed_date, payload_hash, period_no, is_subscription, order_no, price, currency)
            SELECT 'Production', (1000 + n)::text, '700', 'com.example.shop', 'pro.weekly', at, at + interval '7 days', at, at, '\\x01',
                   md5(n::text)::uuid, true, md5(n::text)::uuid, 1990, 'EUR'
            FROM generate_series(1, 830) AS n CROSS JOIN LATERAL (SELECT now() - n * interval '7 days' AS at) AS t;
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id)
            SELECT t.period_no, 'Production', 'granted', t.transaction_id, 700, t.purchase_date, '700', t.transaction_id
            FROM appstore.transactions AS t WHERE t.product_id = 'pro.weekly';
            """
        try await ConsoleScene.run(Story.customer + charges) { scene in
            for target in ["/customers/contracts/700", "/customers/users/alice"] {
                let page = try await scene.get(target, as: .viewer)
                #expect(page.status == 200, "\(target)")
            }
            let paid = "SELECT count(*)::text FROM appstore.timeline('Production', '700') WHERE what = 'order_paid' AND event_id = 700"
            #expect(try await scene.value("\(unsafeRaw: paid)") == "831")
        }
    }
}
