import AppStore
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The legacy sources go through the same inbox to the same ledger.
struct LegacyLedgerTests {
    private static func post(_ receipt: String, user: String = "anna", transactionID: String? = nil) throws -> [UInt8] {
        try ClientReceipt(
            receiptData: receipt,
            user: user,
            transactionID: transactionID,
            environment: .production,
            bundleIDs: nil
        ).body
    }

    @Test func `a notification V1 is merged once, and a second delivery is a duplicate`() async throws {
        let body = try LegacyFixture().notification(.didChangeRenewalStatus)
        try await WorkerScene.with { scene in
            let first = try await scene.receive(JSONSerializer.serialize(body), source: "notification_v1")
            #expect(try await scene.outcome(of: first) == "applied")
            let reversed = JSONObject(body.members.reversed().map { ($0.name, $0.value) })
            let again = try await scene.receive(JSONSerializer.serialize(reversed), source: "notification_v1")
            #expect(try await scene.outcome(of: again) == "duplicate")
            #expect(try await scene.count(of: "transactions", "orders", "v1_renewals", "seen_notifications") == [3, 3, 1, 1])
            #expect(
                try await scene.database.lines("SELECT kind || ' ' || count(*) FROM appstore.effects GROUP BY kind ORDER BY kind")
                    == ["granted 3", "will_renew 1"]
            )
        }
    }

    @Test func `a notification V1 of months ago, with its contract as a number, is merged once`() async throws {
        var fixture = try LegacyFixture()
        fixture.madeAt = SignedScene.now.advanced(by: .seconds(-60 * 86_400))
        fixture.askedAt = fixture.madeAt.advanced(by: .seconds(5))
        let contract = fixture.transactions[0].originalTransactionID
        let number = try JSONParser().parse(Array(contract.utf8))
        let body = try fixture.notification(.didChangeRenewalStatus) { body in
            body["original_transaction_id"] = number
            body.change("unified_receipt") { unified in
                unified.changeEach("pending_renewal_info") { $0["original_transaction_id"] = number }
                unified.changeEach("latest_receipt_info") { $0["original_transaction_id"] = number }
            }
        }
        try await WorkerScene.with { scene in
            let event = try await scene.receive(JSONSerializer.serialize(body), source: "notification_v1")
            #expect(try await scene.outcome(of: event) == "applied")
            let reversed = JSONObject(body.members.reversed().map { ($0.name, $0.value) })
            let again = try await scene.receive(JSONSerializer.serialize(reversed), source: "notification_v1")
            #expect(try await scene.outcome(of: again) == "duplicate")
            #expect(try await scene.count(of: "contracts", "v1_renewals") == [1, 1])
            #expect(try await scene.database.lines("SELECT original_transaction_id FROM appstore.contracts") == [contract])
        }
    }

    @Test func `an older receipt is superseded, a newer one is not`() async throws {
        var fixture = try LegacyFixture()
        let newer = try fixture.notification(.didRenew)
        fixture.madeAt = fixture.madeAt.advanced(by: .seconds(-60))
        fixture.renewals = []
        let older = try fixture.notification(.renewal) { ($0["auto_renew_status"], $0["auto_renew_product_id"]) = (nil, nil) }
        try await WorkerScene.with { scene in
            let first = try await scene.receive(JSONSerializer.serialize(newer), source: "notification_v1")
            #expect(try await scene.outcome(of: first) == "applied")
            let second = try await scene.receive(JSONSerializer.serialize(older), source: "notification_v1")
            let outcome = try await scene.outcome(of: second)
            #expect(outcome == "superseded")
        }
    }

    @Test func `the same refund by V1 and by V2 is one effect`() async throws {
        var refund: SimulatedNotification?
        let fixture = try LegacyFixture { life in refund = try life.refund() }
        let jws = try SignedScene.signer().sign(#require(refund)).jws
        for legacyFirst in [true, false] {
            try await WorkerScene.with { scene in
                let body = JSONSerializer.serialize(try fixture.notification(.refund))
                if legacyFirst { try await scene.receive(body, source: "notification_v1") }
                try await scene.receive(notification: jws)
                try await scene.work()
                try await scene.receive(body, source: "notification_v1")
                try await scene.work()
                #expect(
                    try await scene.database.lines("SELECT kind || ' ' || count(*) FROM appstore.effects GROUP BY kind ORDER BY kind")
                        == ["granted 3", "refunded 1"]
                )
                #expect(try await scene.count(of: "transactions", "orders") == [3, 3])
            }
        }
    }

    @Test func `a posted receipt makes its user the owner of its purchases, and Apple is asked once`() async throws {
        let fixture = try LegacyFixture { life in _ = try life.buy(life.catalogue.oneTimeProducts[0]) }
        let coins = fixture.transactions[3].transactionID
        try await WorkerScene.with(legacy: ReceiptScene.asking) { scene in
            let body = try Self.post(fixture.signed(), transactionID: coins)
            let first = try await scene.receive(body, source: "client_receipt")
            #expect(try await scene.outcome(of: first) == "applied verify_receipt_asked")
            let again = try await scene.receive(body, source: "client_receipt")
            #expect(try await scene.outcome(of: again) == "superseded verify_receipt_asked")
            #expect(try await scene.count(of: "transactions", "orders", "client_posts", "outbox") == [0, 0, 2, 1])
            let answer = try await scene.receive(JSONSerializer.serialize(fixture.answer().json), source: "verify_receipt")
            #expect(try await scene.outcome(of: answer) == "applied")
            #expect(try await scene.count(of: "transactions", "client_posts", "outbox") == [4, 2, 1])
            #expect(try await scene.database.lines("SELECT DISTINCT user_id FROM appstore.orders") == ["anna"])
            let berta = try await scene.receive(Self.post(fixture.signed(), user: "berta", transactionID: coins), source: "client_receipt")
            #expect(try await scene.outcome(of: berta) == "applied owner_conflict")
            let missing = try await scene.receive(Self.post(fixture.signed(), transactionID: "6"), source: "client_receipt")
            #expect(try await scene.outcome(of: missing).hasSuffix(" transaction_not_in_receipt"))
        }
    }

    @Test func `when Apple's answer cannot be used, the receipt is merged once as it is`() async throws {
        let fixture = try LegacyFixture()
        try await WorkerScene.with(legacy: ReceiptScene.asking) { scene in
            let post = try await scene.receive(Self.post(fixture.signed()), source: "client_receipt")
            #expect(try await scene.outcome(of: post) == "applied verify_receipt_asked")
            for _ in 0..<2 {
                let answer = try await scene.receive(Array(#"{"status":0}"#.utf8), source: "verify_receipt")
                _ = try await scene.database.lines(
                    """
                    UPDATE appstore.outbox SET state = 'answered', settled_at = clock_timestamp(), answer_event_id = \(answer)
                    RETURNING ''
                    """
                )
                #expect(try await scene.outcome(of: answer) == "unhandled environment_missing")
                try await scene.work()
            }
            #expect(try await scene.count(of: "transactions", "orders", "inbox") == [3, 3, 4])
            #expect(
                try await scene.database.lines(
                    """
                    SELECT concat_ws(' ', o.source, o.result) FROM appstore.outbox AS c JOIN appstore.outcomes AS o
                    ON o.event_id = c.fallback_event_id
                    """
                ) == ["unanswered_receipt applied"]
            )
            #expect(try await scene.database.lines("SELECT DISTINCT user_id FROM appstore.orders") == ["anna"])
        }
    }

    @Test func `Apple's answer is merged like any other event`() async throws {
        let fixture = try LegacyFixture()
        try await WorkerScene.with { scene in
            let answer = try await scene.receive(JSONSerializer.serialize(fixture.answer().json), source: "verify_receipt")
            #expect(try await scene.outcome(of: answer) == "applied")
            #expect(try await scene.count(of: "transactions", "v1_renewals", "seen_notifications") == [3, 1, 0])
            #expect(
                try await scene.database.lines("SELECT DISTINCT product_type || ' ' || in_app_ownership_type FROM appstore.transactions")
                    == ["Auto-Renewable Subscription PURCHASED"]
            )
            #expect(try await scene.database.eventsNotExactlyOnce() == [])
        }
    }

    @Test func `an unverifiable body changes renewals only`() async throws {
        let body = try LegacyFixture().notification(.didChangeRenewalStatus) { body in
            body["auto_renew_status_change_date_ms"] = .string("\(SignedScene.now.millisecondsSince1970)")
            body.change("unified_receipt") { $0["latest_receipt"] = "AAAA" }
        }
        try await WorkerScene.with(legacy: ReceiptScene.asking) { scene in
            let event = try await scene.receive(JSONSerializer.serialize(body), source: "notification_v1")
            #expect(try await scene.outcome(of: event) == "unhandled receipt:not_a_receipt")
            #expect(try await scene.count(of: "transactions", "orders", "v1_renewals", "outbox") == [0, 0, 1, 0])
        }
    }
}
