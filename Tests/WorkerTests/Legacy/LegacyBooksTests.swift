import AppStore
import Handlers
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// The legacy sources go through the same inbox and reach the same books.
struct LegacyBooksTests {
    private static func post(_ receipt: String, user: String = "anna", transactionID: String? = nil) throws -> [UInt8] {
        try ClientReceipt(
            receiptData: receipt,
            user: user,
            transactionID: transactionID,
            environment: .production,
            bundleIDs: nil
        ).body
    }

    @Test func `a notification V1 is merged once and recognised when it comes again`() async throws {
        let body = try Shelf().notification(.didChangeRenewalStatus)
        try await Office.with { office in
            let first = try await office.receive(JSONSerializer.serialize(body), source: "notification_v1")
            #expect(try await office.outcome(of: first) == "applied")
            let reversed = JSONObject(body.members.reversed().map { ($0.name, $0.value) })
            let again = try await office.receive(JSONSerializer.serialize(reversed), source: "notification_v1")
            #expect(try await office.outcome(of: again) == "duplicate")
            #expect(try await office.count(of: "transactions", "orders", "v1_renewals", "seen_notifications") == [3, 3, 1, 1])
            #expect(
                try await office.database.lines("SELECT kind || ' ' || count(*) FROM appstore.effects GROUP BY kind ORDER BY kind")
                    == ["granted 3", "will_renew 1"]
            )
        }
    }

    @Test func `an older receipt is superseded, a newer one is not`() async throws {
        var shelf = try Shelf()
        let newer = try shelf.notification(.didRenew)
        shelf.madeAt = shelf.madeAt.advanced(by: .seconds(-60))
        shelf.renewals = []
        let older = try shelf.notification(.renewal) { ($0["auto_renew_status"], $0["auto_renew_product_id"]) = (nil, nil) }
        try await Office.with { office in
            let first = try await office.receive(JSONSerializer.serialize(newer), source: "notification_v1")
            #expect(try await office.outcome(of: first) == "applied")
            let second = try await office.receive(JSONSerializer.serialize(older), source: "notification_v1")
            let outcome = try await office.outcome(of: second)
            #expect(outcome == "superseded")
        }
    }

    @Test func `a refund by V1 and the same by V2 are one`() async throws {
        var refund: SimulatedNotification?
        let shelf = try Shelf { life in refund = try life.refund() }
        let jws = try SignedScene.signer().sign(#require(refund)).jws
        for legacyFirst in [true, false] {
            try await Office.with { office in
                let body = JSONSerializer.serialize(try shelf.notification(.refund))
                if legacyFirst { try await office.receive(body, source: "notification_v1") }
                try await office.receive(notification: jws)
                try await office.work()
                try await office.receive(body, source: "notification_v1")
                try await office.work()
                #expect(
                    try await office.database.lines("SELECT kind || ' ' || count(*) FROM appstore.effects GROUP BY kind ORDER BY kind")
                        == ["granted 3", "refunded 1"]
                )
                #expect(try await office.count(of: "transactions", "orders") == [3, 3])
            }
        }
    }

    @Test func `a posted receipt makes its purchases the poster's, and Apple is asked once`() async throws {
        let shelf = try Shelf { life in _ = try life.buy(life.catalogue.oneTimeProducts[0]) }
        let coins = shelf.transactions[3].transactionID
        try await Office.with(legacy: Desk.asking) { office in
            let body = try Self.post(shelf.signed(), transactionID: coins)
            let first = try await office.receive(body, source: "client_receipt")
            #expect(try await office.outcome(of: first) == "applied verify_receipt_asked")
            let again = try await office.receive(body, source: "client_receipt")
            #expect(try await office.outcome(of: again) == "superseded verify_receipt_asked")
            #expect(try await office.count(of: "transactions", "orders", "client_posts", "outbox") == [0, 0, 2, 1])
            let answer = try await office.receive(JSONSerializer.serialize(shelf.answer().json), source: "verify_receipt")
            #expect(try await office.outcome(of: answer) == "applied")
            #expect(try await office.count(of: "transactions", "client_posts", "outbox") == [4, 2, 1])
            #expect(try await office.database.lines("SELECT DISTINCT user_id FROM appstore.orders") == ["anna"])
            let berta = try await office.receive(Self.post(shelf.signed(), user: "berta", transactionID: coins), source: "client_receipt")
            #expect(try await office.outcome(of: berta) == "applied owner_conflict")
            let missing = try await office.receive(Self.post(shelf.signed(), transactionID: "6"), source: "client_receipt")
            #expect(try await office.outcome(of: missing).hasSuffix(" transaction_not_in_receipt"))
        }
    }

    @Test func `where Apple's answer cannot be used the receipt speaks for itself, once`() async throws {
        let shelf = try Shelf()
        try await Office.with(legacy: Desk.asking) { office in
            let post = try await office.receive(Self.post(shelf.signed()), source: "client_receipt")
            #expect(try await office.outcome(of: post) == "applied verify_receipt_asked")
            for _ in 0..<2 {
                let answer = try await office.receive(Array(#"{"status":0}"#.utf8), source: "verify_receipt")
                _ = try await office.database.lines(
                    """
                    UPDATE appstore.outbox SET state = 'answered', settled_at = clock_timestamp(), answer_event_id = \(answer)
                    RETURNING ''
                    """
                )
                #expect(try await office.outcome(of: answer) == "rejected environment_missing")
                try await office.work()
            }
            #expect(try await office.count(of: "transactions", "orders", "inbox") == [3, 3, 4])
            #expect(
                try await office.database.lines(
                    """
                    SELECT concat_ws(' ', o.source, o.result) FROM appstore.outbox AS c JOIN appstore.outcomes AS o
                    ON o.event_id = c.fallback_event_id
                    """
                ) == ["unanswered_receipt applied"]
            )
            #expect(try await office.database.lines("SELECT DISTINCT user_id FROM appstore.orders") == ["anna"])
        }
    }

    @Test func `an answer of Apple's is merged like any other event`() async throws {
        let shelf = try Shelf()
        try await Office.with { office in
            let answer = try await office.receive(JSONSerializer.serialize(shelf.answer().json), source: "verify_receipt")
            #expect(try await office.outcome(of: answer) == "applied")
            #expect(try await office.count(of: "transactions", "v1_renewals", "seen_notifications") == [3, 1, 0])
            #expect(
                try await office.database.lines("SELECT DISTINCT product_type || ' ' || in_app_ownership_type FROM appstore.transactions")
                    == ["Auto-Renewable Subscription PURCHASED"]
            )
            #expect(try await office.database.eventsNotExactlyOnce() == [])
        }
    }

    @Test func `an unverifiable body changes renewals only`() async throws {
        let body = try Shelf().notification(.didChangeRenewalStatus) { body in
            body["auto_renew_status_change_date_ms"] = .string("\(SignedScene.now.millisecondsSince1970)")
            body.change("unified_receipt") { $0["latest_receipt"] = "AAAA" }
        }
        try await Office.with(legacy: Desk.asking) { office in
            let event = try await office.receive(JSONSerializer.serialize(body), source: "notification_v1")
            #expect(try await office.outcome(of: event) == "unhandled receipt:not_a_receipt")
            #expect(try await office.count(of: "transactions", "orders", "v1_renewals", "outbox") == [0, 0, 1, 0])
        }
    }
}
