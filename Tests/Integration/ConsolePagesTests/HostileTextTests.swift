@testable import Console
import HTTPServingTesting
import Postgres
import Testing

struct HostileTextTests {
    private static let corpus = [
        #"<img src=x onerror=alert(1)>"#, #""><script>alert(1)</script>"#, "'; DROP TABLE x; --", "\u{202E}txt.exe",
        "<svg/onload=alert(1)>",
        "javascript:alert(1)", String(repeating: "<b>", count: 85), "&lt;script&gt;", "{{7*7}}",
    ]

    @Test(arguments: corpus)
    func `text of others stays text in each field`(_ text: String) async throws {
        try await ConsoleScene.run(Story.events + Story.customer) { scene in
            let user = String(text.prefix(255))
            try await scene.database.run(
                "UPDATE appstore.outcomes SET reason = \(text), last_error = \(text), notification_type = \(text), bundle_id = \(text) WHERE event_id IN (100, 700)"
            )
            try await scene.database.run("UPDATE appstore.token_orders SET user_id = \(user), product_id = \(text)")
            try await scene.database.run("UPDATE appstore.transactions SET product_id = \(text), currency = \(text), storefront = \(text)")
            try await scene.database.run("UPDATE appstore.contracts SET user_id = \(user), product_id = \(text)")
            try await scene.database.run("UPDATE appstore.ownership_claims SET user_id = \(user)")
            try await scene.database.run("UPDATE appstore.effect_log SET user_id = \(user), product_id = \(text)")
            try await scene.database.run(
                "INSERT INTO appstore.audit_log (at, actor, action, event_ids, note) VALUES (now(), \(text), 'requeue', '{700}', \(text))"
            )
            try await scene.database.run(
                "INSERT INTO appstore.repairs (action, filter, note, actor, expected) VALUES ('requeue', jsonb_populate_record(NULL::appstore.repair_filter, jsonb_build_object('reason', \(text))), \(text), \(text), 1)"
            )
            let encoded = ConsoleScene.encoded(user)
            let targets = [
                "/events", "/events?q=reason%3A\(encoded)", "/events?q=\(encoded)", "/events/700", "/customers/users/\(encoded)",
                "/customers?q=\(encoded)", "/customers/contracts/700", "/customers/contracts/\(encoded)", "/outgoing/\(encoded)",
                "/repairs",
            ]
            for target in targets {
                let page = try await scene.get(target)
                #expect(page.status < 500, "\(target)")
                #expect(page.body.utf8.count <= 40_960, "\(target): \(page.body.utf8.count) bytes")
                for tag in ["<img", "<script>", "<svg/", "<b>", "onerror=alert(1)>", "href=\"javascript"] {
                    #expect(!page.body.contains(tag), "\(target): \(tag)")
                }
            }
            let question = try await scene.post("/customers/contracts/700/link", [("user", user), ("note", text)])
            #expect(question.status < 500)
            #expect(!question.body.contains("<img") && !question.body.contains("<script>"))
        }
    }
}

struct PastedTextTests {
    /// A mark after the quotation mark makes both one Character.
    @Test(arguments: ["", "\u{301}", "\u{200D}", "\u{FE0F}"])
    func `what is pasted stays in its quotation marks`(_ mark: String) {
        let name = "x'\(mark); rm -rf ~ #"
        let statement: PsqlText = "SELECT \(name);"
        #expect(statement.text.utf8.filter { $0 == UInt8(ascii: "'") }.count == 4)
        let command: CommandText = "appstore-inbox user \(name)"
        #expect(command.text.utf8.filter { $0 == UInt8(ascii: "'") }.count == 5)
    }

    @Test func `nothing that is pasted has two lines or hides`() {
        let statement: PsqlText = "SELECT \("a\nb\u{202E}c\u{2028}d");"
        #expect(statement.text == "SELECT 'a b c d';")
    }
}
