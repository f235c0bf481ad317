import Foundation
import Postgres
import Testing

/// Apple's consumption requests and their answers.
struct ConsumptionRequestTests {
    @Test func `the first request counts, and is due twelve hours later`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.say("asked", onDay: 1.2, reason: "OTHER")
            try await ledger.say("asked", onDay: 1, reason: "UNINTENDED_PURCHASE")
            #expect(try await ledger.requests() == ["1000 missed asked 1 due 1.5 UNINTENDED_PURCHASE"])
        }
    }

    @Test(arguments: ["refunded", "declined"])
    func `a decision is the outcome of earlier requests, and a later request begins anew`(decision: String) async throws {
        try await TestLedger.with { ledger in
            try await ledger.say("asked", onDay: 1)
            try await ledger.say(decision, onDay: 2)
            #expect(try await ledger.requests() == ["1000 missed asked 1 due 1.5 \(decision)"])
            try await ledger.say("asked", onDay: 2)
            #expect(try await ledger.requests() == ["1000 missed asked 1 due 1.5 \(decision)"])
            try await ledger.say("asked", onDay: 36_000)
            try await ledger.say(decision, onDay: 1.5)
            #expect(try await ledger.requests() == ["1000 waiting asked 36000 due 36000.5"])
            try await ledger.say(decision, onDay: 36_001)
            try await ledger.say("declined", onDay: 36_002)
            #expect(try await ledger.requests() == ["1000 missed asked 36000 due 36000.5 declined"])
        }
    }

    @Test func `an answer closes the obligation until Apple asks after a decision`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.say("asked", onDay: 1)
            for user in ["appstore_backend", "appstore_operator"] {
                try await ledger.run("SELECT appstore.consumption_answered('Production', '1000')", as: user)
            }
            #expect(try await ledger.requests() == ["1000 answered asked 1 due 1.5"])
            let audit = try await ledger.lines(
                "SELECT concat_ws(' ', actor, action, details->>'environment', details->>'transaction_id') FROM appstore.audit_log ORDER BY audit_id"
            )
            #expect(audit == ["appstore_backend", "appstore_operator"].map { $0 + " consumption_answered Production 1000" })
            try await ledger.say("declined", onDay: 36_000)
            try await ledger.say("asked", onDay: 36_001)
            #expect(try await ledger.requests() == ["1000 waiting asked 36001 due 36001.5"])
        }
    }

    @Test func `a request names the owner of the purchase`() async throws {
        try await TestLedger.with { ledger in
            let token = UUID()
            try await ledger.makeOrder(token, user: "anna", product: "coins")
            try await ledger.put(Charge("coins", "Consumable", "1000", onDay: 0, token: token))
            try await ledger.say("asked", onDay: 1)
            let shown = try await ledger.lines(
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
    func `an answer without a request is refused`(arguments: String, message: String) async throws {
        try await TestLedger.with { ledger in
            try await ledger.say("asked", onDay: 1)
            let error = await #expect(throws: PostgresError.self) {
                try await ledger.run("SELECT appstore.consumption_answered(\(unsafeRaw: arguments))", as: "appstore_operator")
            }
            #expect(error?.message.contains(message) == true, "\(String(describing: error))")
            #expect(try await ledger.lines("SELECT actor FROM appstore.audit_log") == [])
        }
    }
}

extension TestLedger {
    /// `charge state asked due reason outcome`, days after 2026-01-01.
    fileprivate func requests() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', transaction_id, state,
                             'asked', (extract(epoch FROM asked_at - \(timestamp(0))) / 86400)::float8,
                             'due', (extract(epoch FROM due_at - \(timestamp(0))) / 86400)::float8, reason, outcome)
            FROM appstore.consumption_requests ORDER BY 1
            """
        )
    }
}
