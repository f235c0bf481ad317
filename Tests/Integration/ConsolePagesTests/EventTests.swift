import HTTPServingTesting
import InboxTesting
import Postgres
import Testing

struct EventTests {
    @Test func `an event shows what explain says`() async throws {
        try await ConsoleScene.run(Story.events + Story.customer) { scene in
            let page = try await scene.get("/events/700", as: .viewer)
            #expect(page.status == 200)
            #expect(page.table("Effects")?.first?.first == "granted")
            #expect(page.table("Runs")?.count == 1)
            for words in [
                "contracts (1)", "transactions (1)", "orders (1)", "ownership_claims (1)", "SUBSCRIBED", "appstore-inbox explain 700",
            ] {
                #expect(page.text.contains(words), "\(words)")
            }
            #expect(page.body.utf8.count <= 40_960)
        }
    }

    @Test func `it is requeued and discarded once, with a reason`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            #expect(try await scene.post("/events/10/requeue", []).status == 400)
            #expect(try await scene.post("/events/10/requeue", [("note", "ticket 1")]).status == 303)
            #expect(try await scene.value("SELECT event_id::text FROM appstore.inbox_queue") == "10")
            #expect(try await scene.post("/events/20/discard", [("note", "junk")]).text.contains("Discard event 20?"))
            #expect(try await scene.post("/events/20/discard", [("note", "junk"), ("confirmed", "yes")]).status == 303)
            #expect(try await scene.value("SELECT result::text FROM appstore.outcomes WHERE event_id = 20") == "discarded")
            let audit = try await scene.database.lines(
                "SELECT concat_ws('|', actor, action, note) FROM appstore.audit_log ORDER BY audit_id"
            )
            #expect(audit == ["postgres|requeue|ticket 1", "postgres|discard|junk"])
        }
    }

    @Test func `a body is hidden until a reason is given, which the audit log keeps`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            #expect(try await !scene.get("/events/10").body.contains("signedPayload"))
            #expect(try await scene.post("/events/10/body", []).status == 400)
            let page = try await scene.post("/events/10/body", [("note", "ticket 7")])
            #expect(page.text.contains(#"{"signedPayload":"10"}"#))
            #expect(
                try await scene.value("SELECT concat_ws('|', actor, action, event_ids::text, note) FROM appstore.audit_log")
                    == "postgres|show_body|{10}|ticket 7"
            )
            #expect(try await scene.get("/events/10", as: .viewer).table("Repairs, and who")?.first?.contains("show_body") == true)
        }
    }

    @Test(arguments: [
        "/events/999", "/events/x", "/customers/users/%00",
        "/customers/users/unknown", "/customers/contracts/9", "/outgoing/none", "/customers?q=unknown",
    ])
    func `what is unknown is said in words`(_ target: String) async throws {
        try await ConsoleScene.run { scene in
            let page = try await scene.get(target, as: .viewer)
            #expect(page.status == 404)
            #expect(page.text.contains("Not found"))
        }
    }
}
