import Foundation
import InboxTesting
import Postgres
import Testing

/// Policies: default answers shortly before a request is due, what is counted, and erasure.
@Suite(.timeLimit(.minutes(2)))
struct ConsumptionPolicyTests {
    private static let consent: Statement = "SELECT appstore.give_consent('anna', 'terms 7')"

    /// `open`, the seconds until the first is due, and `missed`.
    private func statistics(_ ledger: TestLedger) async throws -> String {
        try await ledger.database.withConnection(user: "appstore_worker") { connection in
            try await connection.query(
                "SELECT concat_ws(' ', open, round(extract(epoch FROM due) / 3600, 1), missed) FROM appstore.consumption_statistics()"
            )[0].decode(0)
        }
    }

    @Test(arguments: [(9.9, "0 0"), (10.1, "1 0"), (11.9, "1 0")])
    func `the default is sent two hours before the request is due`(hoursAgo: Double, decided: String) async throws {
        try await TestLedger.withRequest(hoursAgo: hoursAgo, mode: "default") { ledger in
            try await ledger.run(Self.consent)
            #expect(try await ledger.applyPolicies() == decided)
            #expect(try await ledger.applyPolicies() == "0 0")
            guard decided == "1 0" else { return }
            #expect(try await ledger.states() == ["1000 decided DECLINE"])
            let by = "SELECT concat_ws(' ', decided_by, origin, user_id) FROM appstore.consumption_decisions"
            #expect(try await ledger.lines("\(unsafeRaw: by)") == ["appstore_worker policy anna"])
            #expect(try await ledger.body().contains(#""consumptionPercentage": 50000"#))
        }
    }

    @Test func `the default leaves out the percentage of a subscription`() async throws {
        try await TestLedger.withRequest(Charge("1000", onDay: 0), hoursAgo: 11, mode: "default") { ledger in
            try await ledger.run(Self.consent)
            #expect(try await ledger.applyPolicies() == "1 0")
            let body = try await ledger.body()
            #expect(!body.contains("consumptionPercentage"))
        }
    }

    @Test(arguments: ["off", "backend", "default"])
    func `without a consent in force, or in another mode, nothing is sent`(mode: String) async throws {
        try await TestLedger.withRequest(hoursAgo: 11, mode: mode) { ledger in
            if mode == "default" {
                try await ledger.run(Self.consent)
                try await ledger.run("SELECT appstore.withdraw_consent('anna')")
            } else {
                try await ledger.run(Self.consent)
            }
            #expect(try await ledger.applyPolicies() == "0 0")
            #expect(try await ledger.calls() == [])
        }
    }

    @Test func `a decision precedes the default, also one not to consent, and one that Apple refused`() async throws {
        try await TestLedger.withRequest(hoursAgo: 11, mode: "default") { ledger in
            try await ledger.run(Self.consent)
            try await ledger.answer(preference: "GRANT_FULL")
            #expect(try await ledger.applyPolicies() == "0 0")
            try await ledger.settle(refusedWith: "apple_4000044")
            #expect(try await ledger.applyPolicies() == "0 0")
            try await ledger.answer(consented: false)
            #expect(try await ledger.applyPolicies() == "0 0")
        }
    }

    @Test(arguments: [
        "('b', NULL, 'default', NULL, NULL, NULL, NULL)", "('b', NULL, 'backend', 'DELIVERED', false, NULL, NULL)",
        "('b', NULL, 'default', 'DELIVERED', false, 100001, NULL)", "('b', NULL, 'default', 'UNDELIVERED_OTHER', false, 1, NULL)",
        "('b', NULL, 'default', 'DELIVERED', false, NULL, 'decline')", "('b', NULL, 'on', NULL, NULL, NULL, NULL)",
        "('com.example.app', NULL, 'off', NULL, NULL, NULL, NULL)",
    ])
    func `a policy that cannot be is refused`(row: String) async throws {
        try await TestLedger.withRequest { ledger in
            let columns = "bundle_id, product_id, mode, delivery, sample, percentage, preference"
            let error = await ledger.refusal { ledger in
                try await ledger.run("INSERT INTO appstore.consumption_policies (\(unsafeRaw: columns)) VALUES \(unsafeRaw: row)")
            }
            #expect(error?.message.contains("consumption_policies_") == true)
        }
    }

    @Test func `requests that are to be answered are counted until they are due, and then as missed, once`() async throws {
        try await TestLedger.withRequest(hoursAgo: 11.5) { ledger in
            #expect(try await ledger.applyPolicies() == "0 0")
            #expect(try await statistics(ledger) == "1 0.5 0")
            try await ledger.answer()
            #expect(try await statistics(ledger) == "1 0")
            try await ledger.settle(refusedWith: "apple_4000044")
            #expect(try await statistics(ledger) == "1 0.5 0")
            try await ledger.passDue()
            #expect(try await ledger.applyPolicies() == "0 1")
            #expect(try await ledger.applyPolicies() == "0 0")
            #expect(try await statistics(ledger) == "0 1")
        }
    }

    @Test func `what is not to be answered, or was, is not missed`() async throws {
        try await TestLedger.withRequest(hoursAgo: 11.5, mode: "off") { ledger in
            #expect(try await statistics(ledger) == "0 0")
            try await ledger.setPolicy("default")
            #expect(try await statistics(ledger) == "0 0")
            try await ledger.setPolicy("backend")
            try await ledger.answer(consented: false)
            #expect(try await statistics(ledger) == "0 0")
            #expect(try await ledger.applyPolicies() == "0 0")
            try await ledger.passDue()
            #expect(try await ledger.applyPolicies() == "0 0")
        }
    }

    @Test func `an answer that is on its way is missed only when it is given up`() async throws {
        try await TestLedger.withRequest(hoursAgo: 11.5) { ledger in
            try await ledger.answer()
            try await ledger.passDue()
            #expect(try await ledger.applyPolicies() == "0 0")
            try await ledger.run("UPDATE appstore.outbox SET state = 'given_up', reason = 'deadline', settled_at = now()")
            #expect(try await ledger.applyPolicies() == "0 1")
            #expect(try await ledger.applyPolicies() == "0 0")
        }
    }

    @Test(arguments: [(12.1, "0 1"), (40, "0 1"), (61, "0 0")])
    func `a request that arrives late is counted, unless it was due two days ago`(hoursAgo: Double, counted: String) async throws {
        try await TestLedger.withRequest(hoursAgo: hoursAgo) { ledger in
            #expect(try await ledger.applyPolicies() == counted)
            #expect(try await ledger.applyPolicies() == "0 0")
            // The first notification of the same request comes last.
            try await ledger.sayNow("asked", hoursAgo: hoursAgo + 0.5)
            #expect(try await ledger.applyPolicies() == "0 0")
        }
    }

    @Test func `what was due while the policy was off is never counted, and a second request is counted on its own`() async throws {
        try await TestLedger.withRequest(hoursAgo: 30, mode: "off") { ledger in
            #expect(try await ledger.applyPolicies() == "0 0")
            try await ledger.setPolicy("backend")
            #expect(try await ledger.applyPolicies() == "0 0")
            try await ledger.sayNow("declined", hoursAgo: 14)
            #expect(try await ledger.applyPolicies() == "0 0")
            try await ledger.sayNow("asked", hoursAgo: 13)
            #expect(try await ledger.applyPolicies() == "0 1")
            // Apple decides before it is due.
            try await ledger.sayNow("declined", hoursAgo: 12.5)
            try await ledger.sayNow("asked", hoursAgo: 1)
            #expect(try await ledger.applyPolicies() == "0 0")
            try await ledger.sayNow("refunded")
            #expect(try await ledger.applyPolicies() == "0 1")
            #expect(try await statistics(ledger) == "0 2")
        }
    }

    @Test func `forgetting erases the user's consents and evidence, and ends what waits`() async throws {
        try await TestLedger.withRequest(isAdvancedCommerce: true) { ledger in
            try await ledger.run("SELECT appstore.give_consent('anna', 'she, anna, said so')")
            try await ledger.answer(evidence: "a letter of anna", details: #"{"playTime":1}"#)
            let alias = try await ForgetScene.forget("anna", in: ledger)
            #expect(alias.hasPrefix("forgotten:"))
            #expect(try await ForgetScene.tables(with: "anna", in: ledger) == [])
            #expect(try await ledger.calls() == ["Production/1000 discarded forgotten"])
            #expect(try await ledger.lines("SELECT convert_from(payload, 'UTF8') FROM appstore.outbox") == ["{}"])
            let consent = "SELECT concat_ws(' ', user_id, evidence, withdrawn_at IS NOT NULL) FROM appstore.consents"
            #expect(try await ledger.lines("\(unsafeRaw: consent)") == ["\(alias) t"])
            let decision = "SELECT concat_ws(' ', user_id, answer) FROM appstore.consumption_decisions"
            #expect(try await ledger.lines("\(unsafeRaw: decision)") == ["\(alias) (t,DELIVERED,f,,,,)"])
        }
    }
}
