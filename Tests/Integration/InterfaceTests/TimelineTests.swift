import Foundation
import InboxTesting
import Postgres
import Testing

/// The timeline of a contract, for support.
struct TimelineTests {
    let token = UUID()

    @Test func `a contract's timeline is in order, with both times`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.run("UPDATE appstore.token_orders SET ordered_at = \(timestamp(-0.5))")
            try await ledger.put(Charge("1000", onDay: 0, token: token))
            try await ledger.happen("granted", key: "1000/51000", of: "1000", onDay: 0, by: 1, learnedOnDay: 0.1)
            try await ledger.submit("1000", by: "anna", onDay: 0)
            try await ledger.put(Renewal(1, signedDay: 5, willRenew: false))
            try await ledger.happen("will_not_renew", key: "uuid-5", of: "1000", onDay: 5, by: 2, learnedOnDay: 5.5)
            try await ledger.link(to: "bert", onDay: 7)
            #expect(
                try await ledger.story() == [
                    "-0.5 -0.5 order_made - anna",
                    "0 0 submitted 1000 anna: owned",
                    "0 0.1 granted 1000 -: expires=2026-01-31T00:00:00Z, price=9.99 EUR",
                    "0 0.1 order_paid 1000 anna: price=9.99 EUR",
                    "5 5.5 will_not_renew 1000 -: TYPE/SUBTYPE",
                    "7 7 linked - bert: by=operator, note=receipt shown",
                    "30 - access_ends - bert",
                ]
            )
        }
    }

    @Test func `an order made after its purchase is paid when both are known`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0, token: token))
            try await ledger.happen("granted", key: "1000/51000", of: "1000", onDay: 0, by: 1, learnedOnDay: 0.1)
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.run("UPDATE appstore.token_orders SET ordered_at = \(timestamp(2))")
            #expect(
                try await ledger.story("order_paid", "order_made") == ["0 2 order_paid 1000 anna: price=9.99 EUR", "2 2 order_made - anna"]
            )
        }
    }

    @Test func `effects of an event keep their dates while it runs again`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await ledger.happen("granted", key: "1000/51000", of: "1000", onDay: 0, by: 1, learnedOnDay: 0.1)
            let before = try await ledger.story()
            try await ledger.run("SELECT appstore.requeue_event(1)", as: "appstore_operator")
            #expect(try await ledger.lines("SELECT event_id::text FROM appstore.outcomes") == [])
            #expect(try await ledger.story() == before)
            #expect(before.first == "0 0.1 granted 1000 -: expires=2026-01-31T00:00:00Z, price=9.99 EUR")
        }
    }

    @Test func `an order that could not be paid shows its product`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna", product: "pro.yearly")
            try await ledger.put(Charge("1000", onDay: 0, token: token), Charge("1001", onDay: 30, token: token))
            #expect(
                try await ledger.story("order_not_paid", "order_paid") == [
                    "0 - order_paid 1000 -: price=9.99 EUR, owner_unknown",
                    "0 - order_not_paid 1000 anna: product_mismatch, ordered=pro.yearly",
                    "30 - order_paid 1001 -: price=9.99 EUR, owner_unknown",
                ]
            )
        }
    }

    @Test func `a client post shows its result`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await ledger.submit("1000", by: "dora", onDay: 3.5)
            #expect(try await ledger.story("submitted") == ["3.5 3.5 submitted 1000 dora: claimed"])
            try await ledger.submit("1000", by: "anna", onDay: 1)
            try await ledger.submit("1000", by: "bert", onDay: 2)
            #expect(
                try await ledger.story("submitted") == [
                    "1 1 submitted 1000 anna: claimed",
                    "2 2 submitted 1000 bert: owner_conflict, owner=anna",
                    "3.5 3.5 submitted 1000 dora: owner_conflict, owner=anna",
                ]
            )
        }
    }

    @Test func `a posted receipt shows its result`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await ledger.submitReceipt(by: "anna", onDay: 1)
            try await ledger.submitReceipt(by: "bert", onDay: 2)
            #expect(
                try await ledger.story("receipt_submitted") == [
                    "1 1 receipt_submitted - anna: claimed",
                    "2 2 receipt_submitted - bert: owner_conflict, owner=anna",
                ]
            )
            try await ledger.put(Charge("1001", onDay: 40))
            try await ledger.submitReceipt(naming: "1001", by: "bert", onDay: 40)
            try await ledger.submitReceipt(naming: "1001", by: "carl", onDay: 41)
            try await ledger.submitReceipt(naming: "1000", by: "anna", onDay: 41)
            #expect(
                try await ledger.story("receipt_submitted") == [
                    "1 1 receipt_submitted - anna: claimed",
                    "2 2 receipt_submitted - bert: owner_conflict, owner=anna",
                    "40 40 receipt_submitted 1001 bert: claimed",
                    "41 41 receipt_submitted 1000 anna: owned",
                    "41 41 receipt_submitted 1001 carl: owner_conflict, owner=bert",
                ]
            )
        }
    }

    @Test func `another app's notification V1 is not part of the timeline, and has no effect`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            for (event, bundle) in [(1, "com.example.app"), (2, "com.example.other")] as [(Int64, String)] {
                let key = "v1:\(event)"
                try await ledger.happen("will_not_renew", key: key, of: "1000", onDay: 5, by: event, learnedOnDay: 5)
                try await ledger.run("UPDATE appstore.effect_log SET vouched_bundle_id = \(bundle) WHERE subject = \(key)")
            }
            #expect(try await ledger.story("will_not_renew").count == 1)
            #expect(try await ledger.lines("SELECT subject FROM appstore.effects") == ["v1:1"])
        }
    }

    @Test func `a later token's claim is shown with its order`() async throws {
        try await TestLedger.with { ledger in
            let other = UUID()
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.makeOrder(other, user: "bert")
            try await ledger.put(Charge("1000", onDay: 0, token: token).with { $0.laterToken = other })
            #expect(try await ledger.story("claimed") == ["0 - claimed 1000 bert: later_token"])
            #expect(try await ledger.story("order_made").count == 2)
        }
    }

    @Test func `a refund shows its reason, until it is reversed`() async throws {
        try await TestLedger.with { ledger in
            let charge = Charge("1000", onDay: 0)
            try await ledger.put(charge.with { ($0.signedDay, $0.revocationDay, $0.revocationPercentage) = (4, 4, 30_500) })
            try await ledger.happen("refunded", key: "1000/4", of: "1000", onDay: 4, by: 1, learnedOnDay: 4)
            #expect(try await ledger.story("refunded") == ["4 4 refunded 1000 -: revocation_reason=1, percentage=30.5"])
            #expect(try await ledger.story("order_paid") == ["0 - order_paid 1000 -: price=9.99 EUR, owner_unknown, partly_refunded"])
            try await ledger.put(charge.with { $0.signedDay = 6 })
            #expect(try await ledger.story("refunded") == ["4 4 refunded 1000 -: reversed"])
        }
    }

    @Test func `Apple's requests and the answers are shown`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await ledger.say("asked", onDay: 2, reason: "UNINTENDED_PURCHASE")
            let uuid = try await ledger.lines("SELECT notification_uuid::text FROM appstore.refund_requests")[0]
            try await ledger.happen("consumption_asked", key: uuid, of: "1000", onDay: 2, by: 1, learnedOnDay: 2)
            try await ledger.run("SELECT appstore.consumption_answered('Production', '1000')", as: "appstore_operator")
            try await ledger.run("UPDATE appstore.consumption_decisions SET settled_at = \(timestamp(2.25))")
            #expect(
                try await ledger.story("consumption_asked", "consumption_answered") == [
                    "2 2 consumption_asked 1000 -: UNINTENDED_PURCHASE",
                    "2.25 2.25 consumption_answered 1000 -: by=appstore_operator",
                ]
            )
        }
    }

    @Test func `events without effect are shown as well`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.settle(7, "unhandled", reason: "unknown_notification", onDay: 8)
            #expect(try await ledger.story() == ["8 8 event_unhandled - -: TYPE/SUBTYPE, unknown_notification"])
        }
    }

    @Test func `a contract of the other environment has its own timeline`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: token))
            try await ledger.submit("1000", by: "anna", onDay: 1)
            try await ledger.link(to: "anna", onDay: 1)
            try await ledger.settle(7, "unhandled", reason: "unknown_notification", onDay: 8)
            try await ledger.put(Charge("1000", onDay: 2).with { $0.environment = "Sandbox" })
            #expect(
                try await ledger.story(in: "Sandbox") == ["2 - order_paid 1000 -: price=9.99 EUR, owner_unknown", "32 - access_ends - -"]
            )
        }
    }
}

extension TestLedger {
    /// An event of this contract has its outcome.
    fileprivate func settle(_ event: Int64, _ result: String, reason: String? = nil, onDay day: Double) async throws {
        try await run(
            """
            INSERT INTO appstore.inbox (event_id, source, received_at, body)
            VALUES (\(event), 'notification_v2', \(timestamp(day)), \([UInt8](arrayLiteral: 1)))
            """
        )
        try await run(
            """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, notification_type, subtype,
                                           environment, original_transaction_id)
            VALUES (\(event), 'notification_v2', \(timestamp(day)), now(), 1, 1, \(result)::text::appstore.result, \(reason), 'TYPE', 'SUBTYPE', 'Production', '1000')
            """
        )
    }

    /// An effect, and the event that brought it.
    fileprivate func happen(
        _ kind: String,
        key: String,
        of charge: String,
        onDay day: Double,
        by event: Int64,
        learnedOnDay: Double
    ) async throws {
        try await settle(event, "applied", onDay: learnedOnDay)
        try await run(
            """
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id,
                                          transaction_id, product_id)
            VALUES (gen_random_uuid(), 'Production', \(kind), \(key), \(event), \(timestamp(day)), '1000', \(charge), 'pro.monthly')
            """
        )
    }

    /// `occurred learned what charge user: detail`, days after 2026-01-01; of these kinds, or all.
    fileprivate func story(_ kinds: String..., in environment: String = "Production") async throws -> [String] {
        try await database.withConnection(user: "appstore_viewer") { connection in
            let rows = try await connection.query(
                """
                SELECT concat_ws(' ', (extract(epoch FROM occurred_at - \(timestamp(0))) / 86400)::float8,
                                 coalesce((extract(epoch FROM learned_at - \(timestamp(0))) / 86400)::float8::text, '-'),
                                 regexp_replace(what, 'access_(ended|will_end)', 'access_ends'), coalesce(transaction_id, '-'),
                                 coalesce(user_id, '-'))
                       || CASE WHEN what LIKE 'access%' THEN '' ELSE coalesce(': ' || detail, '') END AS line
                FROM appstore.timeline(\(environment)::appstore.environment, '1000')
                WHERE cardinality(\(kinds)) = 0 OR what = ANY (\(kinds))
                """
            )
            return try rows.map { try $0.decode("line", as: String.self) }
        }
    }
}
