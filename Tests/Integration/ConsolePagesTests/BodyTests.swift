import AppStore
import HTTPServingTesting
import Interpretation
import Postgres
import StrictJSON
import Testing

/// What is made of a body besides showing it.
struct BodyTests {
    private static let checked: JSONObject = [
        "if_run_now": ["result": "rejected", "reason": "signature"],
        "verification": [
            [
                "location": "signedPayload", "passed": ["form", "chain"],
                "failed": ["step": "signature", "requires": "the leaf's key signed", "reason": "wrong_signature", "detail": .null],
                "not_reached": ["kind"],
            ]
        ],
        "facts": [["table": "transactions", "transaction_id": "7", "standing": "held", "version": "1"]],
    ]

    @Test func `a body is verified for those who may see bodies, with the rights of a viewer besides`() async throws {
        try await ConsoleScene.run(
            Story.events,
            bodyCheck: { event, transaction in
                #expect(event.id == 10 && event.source == .notificationV2 && event.body == Array(#"{"signedPayload":"10"}"#.utf8))
                let role = try await transaction.query("SELECT current_user::text").first?.decode(0, as: String.self)
                #expect(role == "appstore_viewer")
                return [:]
            }
        ) { scene in
            let page = try await scene.post("/events/10/checks", [("note", "ticket 7")])
            #expect(page.status == 200, "\(page.text)")
            #expect(try await scene.get("/events/10").body.contains("/events/10/checks"))
            #expect(try await !scene.get("/events/10", as: .viewer).body.contains("/events/10/checks"))
            #expect(try await scene.post("/events/10/checks", []).status == 400)
            #expect(try await scene.post("/events/10/checks", [("note", "x")], as: .viewer).status == 403)
        }
    }

    @Test func `each check is shown as it came out`() async throws {
        try await ConsoleScene.run(Story.events, bodyCheck: { _, _ in Self.checked }) { scene in
            let page = try await scene.post("/events/10/checks", [("note", "ticket 7")])
            #expect(page.status == 200)
            for words in [
                "signedPayload", "✓ form", "✓ chain", "✗ signature: wrong_signature. Required: the leaf's key signed",
                "– kind, not reached", "rejected",
            ] {
                #expect(page.text.contains(words), "\(words): \(page.text)")
            }
            #expect(page.table("Facts of the body")?.first?.prefix(3) == ["transactions", "held", "7"])
            #expect(!page.text.contains(#""10""#))
            let audit = try await scene.value("SELECT concat_ws('|', actor, action, event_ids::text, note) FROM appstore.audit_log")
            #expect(audit == "postgres|show_body|{10}|ticket 7")
        }
    }

    @Test func `without the settings of the worker, a command is named`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            #expect(try await !scene.get("/events/10").body.contains("/events/10/checks"))
            let answer = try await scene.post("/events/10/checks", [("note", "x")])
            #expect(answer.status == 409 && answer.text.contains("appstore-inbox explain 10"))
        }
    }

    @Test func `the payloads of a large body are not decoded`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.database.run(
                "INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (1, 'client_receipt', now(), convert_to(repeat('x', 300000), 'UTF8'))"
            )
            let page = try await scene.post("/events/1/body", [("note", "x")])
            #expect(page.status == 200 && page.text.contains("not decoded") && page.body.utf8.count <= 40_960)
        }
    }
}
