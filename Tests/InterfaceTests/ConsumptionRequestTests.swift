import Foundation
import InboxTesting
import Postgres
import Testing

/// What Apple waits to hear about a purchase.
struct ConsumptionRequestTests {
    @Test func `the first ask counts, whatever follows, and is due twelve hours later`() async throws {
        try await Books.with { books in
            try await books.say("asked", onDay: 1.2, reason: "OTHER")
            try await books.say("asked", onDay: 1, reason: "UNINTENDED_PURCHASE")
            #expect(try await books.requests() == ["1000 open asked 1 due 1.5 UNINTENDED_PURCHASE"])
        }
    }

    @Test(arguments: ["refunded", "declined"])
    func `a decision closes what was asked before it, and a later ask opens it again`(decision: String) async throws {
        try await Books.with { books in
            try await books.say("asked", onDay: 1)
            try await books.say(decision, onDay: 2)
            #expect(try await books.requests() == [])
            try await books.say("asked", onDay: 2)
            #expect(try await books.requests() == [])
            try await books.say("asked", onDay: 3)
            try await books.say(decision, onDay: 1.5)
            #expect(try await books.requests() == ["1000 open asked 3 due 3.5"])
        }
    }

    @Test func `an answer closes it until Apple asks after a decision`() async throws {
        try await Books.with { books in
            try await books.say("asked", onDay: 1)
            for user in ["appstore_backend", "appstore_operator"] {
                try await books.run("SELECT appstore.consumption_answered('Production', '1000')", as: user)
            }
            #expect(try await books.requests() == ["1000 answered asked 1 due 1.5"])
            let audit = try await books.lines(
                "SELECT concat_ws(' ', actor, action, details->>'environment', details->>'transaction_id') FROM appstore.audit_log ORDER BY audit_id"
            )
            #expect(audit == ["appstore_backend", "appstore_operator"].map { $0 + " consumption_answered Production 1000" })
            try await books.say("declined", onDay: 36_000)
            try await books.say("asked", onDay: 36_001)
            #expect(try await books.requests() == ["1000 open asked 36001 due 36001.5"])
        }
    }

    @Test func `it says whose purchase it is`() async throws {
        try await Books.with { books in
            let token = UUID()
            try await books.makeOrder(token, user: "anna", product: "coins")
            try await books.put(Charge("coins", "Consumable", "1000", onDay: 0, token: token))
            try await books.say("asked", onDay: 1)
            let shown = try await books.lines(
                "SELECT concat_ws(' ', environment, original_transaction_id, product_id, user_id, order_no) FROM appstore.consumption_requests"
            )
            #expect(shown == ["Production 1000 coins anna \(token.uuidString.lowercased())"])
        }
    }

    @Test(arguments: [
        ("'Production', '4711'", "Apple has not asked about transaction '4711' in Production"),
        ("'Production', NULL", "Apple has not asked about transaction NULL in Production"),
        ("'Sandbox', '1000'", "Apple has not asked about transaction '1000' in Sandbox"),
        ("'production', '1000'", "invalid input value for enum"),
    ])
    func `what nobody asked cannot be answered`(arguments: String, message: String) async throws {
        try await Books.with { books in
            try await books.say("asked", onDay: 1)
            let error = await #expect(throws: PostgresError.self) {
                try await books.run("SELECT appstore.consumption_answered(\(unsafeRaw: arguments))", as: "appstore_operator")
            }
            #expect(error?.message.contains(message) == true, "\(String(describing: error))")
            #expect(try await books.lines("SELECT actor FROM appstore.audit_log") == [])
        }
    }
}

extension Books {
    /// `charge open-or-answered asked due reason`, days after 2026-01-01.
    fileprivate func requests() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', transaction_id, CASE WHEN open THEN 'open' ELSE 'answered' END,
                             'asked', (extract(epoch FROM asked_at - \(timestamp(0))) / 86400)::float8,
                             'due', (extract(epoch FROM due_at - \(timestamp(0))) / 86400)::float8, reason)
            FROM appstore.consumption_requests ORDER BY 1
            """
        )
    }
}
