import Foundation
import Postgres
import Testing

/// Decisions about consumption requests: Apple's rules, states and consent.
@Suite(.timeLimit(.minutes(2)))
struct AnswerConsumptionTests {
    private static let subscription = Charge("1000", onDay: 0)

    /// An answer that breaks a rule. Without a rule it breaks none.
    struct Answer: Sendable, CustomTestStringConvertible {
        var rule: String?
        var charge = Charge("coins", "Consumable", "1000", onDay: 0)
        var isAdvancedCommerce = false
        var delivery: String? = "DELIVERED"
        var sample: Bool? = false
        var percentage: Int32?
        var preference: String?
        var details: String?

        var testDescription: String { "\(rule ?? "none") \(delivery ?? "") \(percentage ?? -1) \(preference ?? "") \(details ?? "")" }
    }

    @Test(arguments: [
        Answer(), Answer(percentage: 100_000, preference: "GRANT_FULL"), Answer(percentage: 1, preference: "GRANT_PRORATED"),
        Answer(delivery: "UNDELIVERED_OTHER", percentage: 0), Answer(delivery: "UNDELIVERED_SERVER_OUTAGE"),
        Answer(charge: subscription, preference: "GRANT_PRORATED"), Answer(charge: subscription, delivery: "UNDELIVERED_OTHER"),
        Answer(charge: subscription, isAdvancedCommerce: true, percentage: 1, details: #"{"accountTenure":7,"platform":2,"userStatus":4}"#),
        Answer(rule: "delivery", delivery: nil), Answer(rule: "delivery", delivery: "LOST"), Answer(rule: "sample", sample: nil),
        Answer(rule: "percentage", percentage: -1), Answer(rule: "percentage", percentage: 100_001),
        Answer(rule: "preference", preference: "decline"),
        Answer(rule: "percentage_of_subscription", charge: subscription, percentage: 0),
        Answer(rule: "percentage_of_undelivered", delivery: "UNDELIVERED_OTHER", percentage: 1),
        Answer(rule: "prorated_percentage", preference: "GRANT_PRORATED"),
        Answer(rule: "prorated_percentage", percentage: 0, preference: "GRANT_PRORATED"),
        Answer(rule: "prorated_percentage", percentage: 100_000, preference: "GRANT_PRORATED"),
        Answer(rule: "family_shared", charge: subscription.with { $0.isShared = true }),
        Answer(rule: "prorated_of_version_1", isAdvancedCommerce: true, percentage: 1, preference: "GRANT_PRORATED"),
        Answer(rule: "details", details: "{}"), Answer(rule: "details", isAdvancedCommerce: true, details: #"{"platform":3}"#),
        Answer(rule: "details", isAdvancedCommerce: true, details: #"{"deliveryStatus":0}"#),
        Answer(rule: "details", isAdvancedCommerce: true, details: #"{"playTime":"1"}"#),
        Answer(rule: "details", isAdvancedCommerce: true, details: #"{"playTime":1.5}"#),
        Answer(rule: "details", isAdvancedCommerce: true, details: "[]"),
    ])
    func `Apple's rules are checked at once`(answer: Answer) async throws {
        try await TestLedger.withRequest(answer.charge, isAdvancedCommerce: answer.isAdvancedCommerce) { ledger in
            let decide = { (ledger: TestLedger) in
                try await ledger.answer(
                    delivery: answer.delivery,
                    sample: answer.sample,
                    percentage: answer.percentage,
                    preference: answer.preference,
                    details: answer.details
                )
            }
            guard let rule = answer.rule else {
                try await decide(ledger)
                #expect(try await ledger.calls() == ["Production/1000 open"])
                return
            }
            let error = await ledger.refusal(decide)
            #expect(error?.sqlState?.rawValue == "22023")
            let broken = try await ledger.lines(
                """
                SELECT r.rule FROM appstore.consumption_obligations AS c JOIN appstore.transactions AS t USING (transaction_id, environment),
                     appstore.consumption_violation(ROW(true, \(answer.delivery), \(answer.sample), \(answer.percentage), \(answer.preference),
                         'x', \(answer.details)::text::jsonb), t.is_subscription, t.in_app_ownership_type, c.is_advanced_commerce) AS r
                """
            )
            #expect(broken == [rule])
            #expect(try await ledger.calls() == [])
            #expect(try await ledger.lines("SELECT decision_id::text FROM appstore.consumption_decisions") == [])
        }
    }

    @Test func `an assigned purchase takes no answer`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.run("UPDATE appstore.transactions SET in_app_ownership_type = 'ASSIGNED', is_purchased = false")
            #expect(await ledger.refusal { try await $0.answer() }?.message.contains("4000227") == true)
        }
    }

    @Test func `consent is never assumed`() async throws {
        try await TestLedger.withRequest { ledger in
            #expect(await ledger.refusal { try await $0.answer(consented: nil) }?.message.contains("4000035") == true)
            #expect(await ledger.refusal { try await $0.answer(evidence: nil) }?.message.contains("no consent") == true)
            #expect(await ledger.refusal { try await $0.answer(evidence: "") }?.message.contains("evidence") == true)
            try await ledger.run("SELECT appstore.give_consent('anna', 'terms 7')", as: "appstore_backend")
            try await ledger.answer(evidence: nil)
            #expect(try await ledger.states() == ["1000 decided"])
        }
    }

    @Test func `without consent the decision is recorded, nothing else is kept, and nothing is sent`() async throws {
        try await TestLedger.withRequest(mode: "off") { ledger in
            try await ledger.answer(consented: false, percentage: 1, preference: "DECLINE", evidence: "asked on the phone")
            #expect(try await ledger.states() == ["1000 not_consented"])
            #expect(try await ledger.calls() == [])
            let decision = "SELECT concat_ws(' ', decided_by, origin, user_id, answer) FROM appstore.consumption_decisions"
            #expect(
                try await ledger.lines("\(unsafeRaw: decision)") == [
                    #"appstore_backend decision anna (f,,,,,"asked on the phone",)"#
                ]
            )
        }
    }

    @Test func `a withdrawn consent stops answers until it is given again`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.run("SELECT appstore.give_consent('anna', 'terms 7')", as: "appstore_backend")
            try await ledger.answer()
            try await ledger.run("SELECT appstore.withdraw_consent('anna')", as: "appstore_backend")
            #expect(try await ledger.calls() == ["Production/1000 discarded consent_withdrawn"])
            #expect(try await ledger.states() == ["1000 not_consented"])
            #expect(await ledger.refusal { try await $0.answer(percentage: 7) }?.message.contains("withdrew") == true)
            #expect(try await ledger.lines("SELECT appstore.withdraw_consent('anna')::text") == ["false"])
            try await ledger.run("SELECT appstore.give_consent('anna', 'terms 8')", as: "appstore_backend")
            try await ledger.answer(evidence: nil)
            #expect(try await ledger.states() == ["1000 decided"])
        }
    }

    @Test func `a withdrawal also discards an answer whose consent only its evidence tells, and it cannot be repeated`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.answer(evidence: "a letter")
            #expect(try await ledger.lines("SELECT appstore.withdraw_consent('anna')::text") == ["true"])
            #expect(try await ledger.calls() == ["Production/1000 discarded consent_withdrawn"])
            #expect(try await ledger.lines("SELECT appstore.withdraw_consent('anna')::text") == ["false"])
            let error = await ledger.refusal { try await $0.run("SELECT appstore.repeat_call(call_id) FROM appstore.outbox") }
            #expect(error?.message.contains("was discarded: consent_withdrawn") == true && error?.hint?.contains("Decide again") == true)
            #expect(try await ledger.calls() == ["Production/1000 discarded consent_withdrawn"])
            // One that Apple refused can be: the reason may be gone.
            try await ledger.answer(evidence: "another letter")
            try await ledger.settle(refusedWith: "apple_4040010")
            try await ledger.run("SELECT appstore.repeat_call(max(call_id)) FROM appstore.outbox")
            #expect(try await ledger.states() == ["1000 sending"])
        }
    }

    @Test func `a refused answer is corrected, and Apple's decision is shown beside ours`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.answer(preference: "DECLINE")
            try await ledger.run("UPDATE appstore.outbox SET epoch = 1, is_leased = true")
            #expect(try await ledger.states() == ["1000 sending DECLINE"])
            try await ledger.settle(refusedWith: "apple_4000044")
            #expect(try await ledger.states() == ["1000 refused DECLINE apple_4000044"])
            try await ledger.answer(percentage: 9, preference: "DECLINE")
            #expect(try await ledger.states() == ["1000 decided DECLINE"])
            try await ledger.settle()
            #expect(try await ledger.states() == ["1000 answered DECLINE"])
            try await ledger.answer(percentage: 9, preference: "DECLINE")  // the same again
            let other = await ledger.refusal { try await $0.answer(preference: "GRANT_FULL") }
            #expect(other?.sqlState?.rawValue == "55000")
            try await ledger.sayNow("asked")
            try await ledger.sayNow("refunded")
            #expect(try await ledger.states() == ["1000 answered DECLINE refunded"])
            #expect(try await ledger.lines("SELECT count(*)::text FROM appstore.consumption_decisions") == ["2"])
        }
    }

    @Test func `a decision that was not sent is replaced, and the same one again changes nothing`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.answer(preference: "DECLINE")
            try await ledger.answer(preference: "DECLINE")
            #expect(try await ledger.calls() == ["Production/1000 open"])
            try await ledger.answer(preference: "GRANT_FULL")
            #expect(try await ledger.calls() == ["Production/1000 discarded replaced", "Production/1000 open"])
            try await ledger.answer(consented: false)
            #expect(try await ledger.calls() == ["Production/1000 discarded replaced", "Production/1000 discarded replaced"])
            try await ledger.answer(preference: "DECLINE")
            try await ledger.run("SELECT appstore.consumption_answered('Production', '1000')", as: "appstore_backend")
            #expect(try await ledger.calls().last == "Production/1000 discarded replaced")
            #expect(try await ledger.states() == ["1000 answered"])
        }
    }

    @Test func `the call has the request's deadline, and the words of the version that Apple takes`() async throws {
        try await TestLedger.withRequest { ledger in
            try await ledger.answer(percentage: 50_000, preference: "GRANT_PRORATED")
            let isDue = "SELECT (o.deadline_at = c.due_at)::text FROM appstore.outbox AS o, appstore.consumption_obligations AS c"
            #expect(try await ledger.lines("\(unsafeRaw: isDue)") == ["true"])
            let body = """
                {"deliveryStatus": "DELIVERED", "refundPreference": "GRANT_PRORATED", "customerConsented": true, "consumptionPercentage": 50000, \
                "sampleContentProvided": false}
                """
            #expect(try await ledger.body() == body)
        }
        try await TestLedger.withRequest(Self.subscription, isAdvancedCommerce: true) { ledger in
            try await ledger.answer(delivery: "UNDELIVERED_OTHER", sample: true, preference: "GRANT_FULL", details: #"{"playTime":3}"#)
            let body = """
                {"platform": 0, "playTime": 3, "userStatus": 0, "accountTenure": 0, "deliveryStatus": 5, "appAccountToken": "", \
                "refundPreference": 1, "consumptionStatus": 0, "customerConsented": true, "sampleContentProvided": true, \
                "lifetimeDollarsRefunded": 0, "lifetimeDollarsPurchased": 0}
                """
            #expect(try await ledger.body() == body)
        }
    }

    @Test func `nothing is sent where the policy is off, and the product's policy precedes the app's`() async throws {
        try await TestLedger.withRequest(mode: "off") { ledger in
            #expect(await ledger.refusal { try await $0.answer() }?.sqlState?.rawValue == "55000")
            try await ledger.setPolicy("backend", product: "coins")
            try await ledger.answer()
            #expect(try await ledger.states() == ["1000 decided"])
        }
    }

    @Test func `what Apple has not asked, has decided, or wanted earlier is not answered`() async throws {
        try await TestLedger.withRequest(hoursAgo: 12) { ledger in
            #expect(try await ledger.states() == ["1000 missed"])
            #expect(await ledger.refusal { try await $0.answer() }?.sqlState?.rawValue == "55000")
            #expect(await ledger.refusal { try await $0.answer("1001") }?.sqlState?.rawValue == "P0002")
            try await ledger.sayNow("declined", hoursAgo: 2)
            #expect(await ledger.refusal { try await $0.answer() }?.message.contains("Apple has decided") == true)
            try await ledger.sayNow("asked", hoursAgo: 1)
            try await ledger.answer()
            #expect(try await ledger.states() == ["1000 decided"])
        }
    }
}
