import Console
import HTTPServingTesting
import InboxQueue
import InboxTesting
import Postgres
import Testing

struct EventsTests {
    private let caption = "Events, the latest first"

    @Test func `a search shows what SQL finds, page by page`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            var target: String? = "/events"
            var shown: [String] = []
            while let next = target {
                let page = try await scene.get(next, as: .viewer)
                #expect(page.status == 200)
                #expect(page.body.utf8.count <= 40_960, "\(page.body.utf8.count) bytes")
                shown += page.table(caption)?.compactMap(\.first) ?? []
                target = page.older
            }
            let all = try await scene.database.lines("SELECT event_id::text FROM appstore.outcomes ORDER BY settled_at DESC, event_id DESC")
            #expect(shown == all)
        }
    }

    @Test(arguments: [
        ("type:REFUND", "notification_type = 'REFUND'"), ("outcome:failed", "result = 'failed'"),
        ("outcome:failed type:REFUND", "result = 'failed' AND notification_type = 'REFUND'"),
        ("contract:3", "original_transaction_id = '3'"),
        ("uuid:c81e728d-9d4c-2f63-6f06-7f89cc14862c", "notification_uuid = md5('2')::uuid"), ("app:com.example.other", "false"),
        ("since:150s type:REFUND", "false"), ("env:Sandbox", "environment = 'Sandbox'"), ("reason:merge_failed", "reason = 'merge_failed'"),
    ])
    func `each qualifier finds what its column has`(_ search: String, _ condition: String) async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let page = try await scene.get("/events?q=\(ConsoleScene.encoded(search))", as: .viewer)
            let shown = page.table(caption)?.compactMap(\.first) ?? []
            let found = try await scene.database.lines(
                "SELECT event_id::text FROM appstore.outcomes WHERE \(unsafeRaw: condition) ORDER BY outcomes.event_id DESC LIMIT 40"
            )
            #expect(shown == found, "\(search)")
        }
    }

    @Test func `an unknown qualifier is named`() async throws {
        try await ConsoleScene.run { scene in
            let page = try await scene.get("/events?q=colour%3Ared", as: .viewer)
            #expect(page.text.contains("There is no qualifier “colour:”"))
        }
    }

    @Test func `selected events are requeued once, after a confirmation, as the person`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let fields = [("do", "requeue-selected"), ("event", "10"), ("event", "20"), ("note", "ticket 41"), ("q", "outcome:failed")]
            let question = try await scene.post("/events/repair", fields)
            #expect(question.text.contains("2 failed"))
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.inbox_queue") == "0")
            #expect(try await scene.post("/events/repair", fields + [("confirmed", "yes"), ("seen", "2")]).status == 303)
            let queued = try await scene.database.lines("SELECT event_id::text FROM appstore.inbox_queue ORDER BY event_id")
            #expect(queued == ["10", "20"])
            let audit = try await scene.database.lines(
                "SELECT concat_ws('|', actor, action, event_ids::text, note) FROM appstore.audit_log ORDER BY 1"
            )
            #expect(audit == ["postgres|requeue|{10}|ticket 41", "postgres|requeue|{20}|ticket 41"])
        }
    }

    @Test func `all that match are discarded in steps, in the name of the person`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let fields = [("do", "discard-all"), ("note", "junk"), ("q", "outcome:failed")]
            #expect(try await scene.post("/events/repair", fields).text.contains("Discard 10 events?"))
            // Another count than was seen is asked about again.
            let stale = try await scene.post("/events/repair", fields + [("confirmed", "yes"), ("seen", "20")])
            #expect(stale.text.contains("Discard 10 events?"))
            #expect(try await scene.post("/events/repair", fields + [("confirmed", "yes"), ("seen", "10")]).status == 303)
            #expect(try await scene.get("/repairs").table("Repairs of all")?.first?.contains("0 of 10") == true)
            while try await scene.runner.step() != nil {}
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.outcomes WHERE result = 'discarded'") == "10")
            #expect(try await scene.value("SELECT concat_ws('|', actor, action, note) FROM appstore.audit_log") == "postgres|discard|junk")
            #expect(try await scene.get("/repairs", as: .viewer).table("Repairs of all")?.first?.contains("10 of 10") == true)
        }
    }

    @Test func `a repair touches nothing that is settled after the confirmation, and is not begun twice`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let fields = [("do", "discard-all"), ("note", "junk"), ("q", "outcome:failed"), ("confirmed", "yes"), ("seen", "10")]
            #expect(try await scene.post("/events/repair", fields).status == 303)
            #expect(try await scene.post("/events/repair", fields).status >= 400)
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.repair_status") == "1")
            try await scene.database.withConnection { connection in
                _ = try await connection.query("UPDATE appstore.outcomes SET settled_at = clock_timestamp() WHERE event_id = 10")
            }
            while try await scene.runner.step() != nil {}
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.outcomes WHERE result = 'discarded'") == "9")
        }
    }

    @Test func `a stopped repair takes no further step`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let fields = [("do", "requeue-all"), ("note", "why"), ("q", "type:REFUND"), ("confirmed", "yes"), ("seen", "14")]
            let begun = try await scene.post("/events/repair", fields)
            #expect(begun.status == 303)
            #expect(try await scene.post("/repairs/1/stop", []).status == 303)
            #expect(try await scene.runner.step() == nil)
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.inbox_queue") == "0")
            #expect(try await scene.value("SELECT state FROM appstore.repair_status") == "stopped")
        }
    }

    @Test func `a viewer can do nothing, and sees no form`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let actions = [
                "/events/repair", "/events/10/requeue", "/events/10/discard", "/events/10/body", "/customers/contracts/1/link",
                "/customers/users/u/forget",
                "/repairs/1/stop", "/outgoing/crm/test", "/outgoing/crm/pause", "/outgoing/crm/enable",
            ]
            for action in actions {
                let fields = [
                    ("note", "x"), ("confirmed", "yes"), ("do", "requeue-selected"), ("event", "10"), ("user", "u"), ("contract", "1"),
                ]
                let answer = try await scene.post(action, fields, as: .viewer)
                #expect(answer.status == 403, "\(action)")
            }
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.audit_log") == "0")
            for target in ["/events", "/events/10", "/customers/contracts/3", "/repairs", "/outgoing"] {
                #expect(try await !scene.get(target, as: .viewer).body.contains("class=\"action\""), "\(target)")
            }
        }
    }
}
