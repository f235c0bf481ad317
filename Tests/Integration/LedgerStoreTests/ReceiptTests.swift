import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import Testing

/// The effect of receipts, and of the facts beside them, on the ledger.
struct ReceiptTests {
    let charge = Facts.Charge("1000", onDay: 0)

    private func event(_ id: Int64, _ receipts: ReceiptFact...) -> EventFacts { Facts.receiptEvent(id, receipts: receipts) }

    @Test(arguments: [true, false])
    func `receipt and JWS of one charge are one order and one row`(receiptFirst: Bool) async throws {
        try await LedgerFixture.with { ledger in
            let forms: [ReceiptFact.Form] = [.signedReceipt, .inApp, .latestReceiptInfo]
            let receipts = forms.enumerated().map { event(Int64($0 + 1), charge.receipt($1, onDay: 1)) }
            if receiptFirst { try await ledger.merge(receipts) }
            try await ledger.merge(charge)
            if !receiptFirst { try await ledger.merge(receipts) }
            #expect(try await ledger.orders().count == 1)
            let row = try await ledger.database.lines(
                "SELECT concat_ws(' ', transaction_id, product_type, price, signed_date < receipt_date) FROM appstore.transactions"
            )
            #expect(row == ["1000 Auto-Renewable Subscription 9990 t"])
        }
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    func `a refund in a receipt counts until a later JWS reverses it`(order: [Int]) async throws {
        try await LedgerFixture.with { ledger in
            let refunded = charge.with { $0.revocationDay = 10 }
            let events = [
                try ledger.events([charge])[0], event(2, refunded.receipt(.signedReceipt, onDay: 11)),
                try ledger.events([charge.with { $0.signedDay = 12 }])[0],
            ]
            for index in order { try await ledger.merge([events[index]]) }
            #expect(try await ledger.contracts() == ["1000 - 1000 30"])
            try await ledger.merge([event(3, refunded.receipt(.inApp, onDay: 13))])
            #expect(try await ledger.contracts() == ["1000 - 1000 10"])
            #expect(try await ledger.orders().first?.contains("refunded") == true)
        }
    }

    @Test func `an upgrade ends a period without a refund`() async throws {
        try await LedgerFixture.with { ledger in
            let replaced = charge.with { $0.revocationDay = 10 }
            let upgrade = Facts.Charge("1001", onDay: 10).with { $0.product = "pro.yearly" }
            try await ledger.merge([
                event(1, replaced.receipt(.latestReceiptInfo, onDay: 11, isUpgraded: true), upgrade.receipt(.latestReceiptInfo, onDay: 11))
            ])
            #expect(try await ledger.orders().allSatisfy { $0.contains("paid") })
            #expect(try await ledger.contracts() == ["1000 - 1001 40"])
        }
    }

    @Test func `a V1 body may extend access by a grace period, but never shortens it`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge([event(1, charge.receipt(.signedReceipt, onDay: 1))])
            try await ledger.merge([
                Facts.receiptEvent(2, renewals: [try Facts.legacyRenewal("1000", onDay: 5, willRenew: false, isInBillingRetry: true)])
            ])
            #expect(try await ledger.contracts() == ["1000 - 1000 30"])
            let grace = try Facts.legacyRenewal("1000", onDay: 31, isInBillingRetry: true, graceUntilDay: 46)
            try await ledger.merge([Facts.receiptEvent(3, renewals: [grace])])
            #expect(try await ledger.contracts() == ["1000 - 1000 46"])
            let status = try await ledger.database.lines("SELECT concat_ws(' ', status, will_renew) FROM appstore.contracts")
            #expect(status == ["4 t"])
            // A revocation signed by Apple counts, even when it is older.
            try await ledger.merge(renewals: [Facts.subscription("1000", signedDate: Facts.day(20), status: .revoked)])
            #expect(try await ledger.contracts() == ["1000 - 1000 20"])
        }
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]])
    func `another app's facts about a contract change nothing`(order: [Int]) async throws {
        try await LedgerFixture.with { ledger in
            let own = try Facts.legacyRenewal("1000", onDay: 31, isInBillingRetry: true, graceUntilDay: 40)
            let foreign = try Facts.legacyRenewal(
                "1000",
                bundle: "com.example.other",
                onDay: 32,
                willRenew: false,
                isInBillingRetry: true,
                graceUntilDay: 46
            )
            let events = [
                event(1, charge.receipt(.signedReceipt, onDay: 1)), Facts.receiptEvent(2, renewals: [own]),
                Facts.receiptEvent(3, renewals: [foreign]),
            ]
            for index in order { try await ledger.merge([events[index]]) }
            #expect(try await ledger.contracts() == ["1000 - 1000 40"])
            let statuses = try await ledger.database.lines(
                "SELECT concat_ws(' ', status, will_renew) FROM appstore.contracts"
            )
            #expect(statuses == ["4 t"])
            let key = try await ledger.database.makeAPIKey()
            let shown = try await ledger.database.lines(
                "SELECT concat_ws(' ', will_renew, in_billing_retry) FROM appstore.api_subscription(\(key), 'Production', '1000')"
            )
            #expect(shown == ["t t"])
        }
    }

    @Test func `for a contract without any charge, no app's facts count`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge([Facts.receiptEvent(1, renewals: [try Facts.legacyRenewal("1000", onDay: 5)])])
            let line = "SELECT concat_ws(' ', original_transaction_id, product_id, status, will_renew) FROM appstore.contracts" as Statement
            #expect(try await ledger.database.lines(line) == ["1000"])
            try await ledger.merge(charge)
            #expect(try await ledger.database.lines(line) == ["1000 pro.monthly t"])
        }
    }

    @Test(arguments: [("com.example.app", "anna"), ("com.example.other", "-")])
    func `an effect of a notification V1 has a user only in the contract's own app`(bundle: String, user: String) async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(charge)
            try await ledger.link("1000", to: "anna", onDay: 1)
            let effect = Effect(
                key: EffectKey(environment: .production, kind: .willNotRenew, subject: "v1:00"),
                occurredAt: Facts.timestamp(Facts.day(2)),
                originalTransactionID: "1000",
                transactionID: nil,
                productID: nil,
                vouchedBundleID: bundle
            )
            var event = Facts.receiptEvent(2)
            event.effects = [effect]
            let fold = BatchFold([event])
            _ = try await ledger.pool.withTransaction { try await LedgerMerger.merge(fold, in: $0) }
            let users = try await ledger.database.lines("SELECT coalesce(user_id, '-') FROM appstore.effect_log")
            #expect(users == [user])
        }
    }

    @Test func `of JWS and legacy facts about a renewal, the later one counts`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(charge, renewals: [Facts.subscription("1000", signedDate: Facts.day(5), status: .active)])
            for (day, willRenew, expected) in [(4.0, false, ""), (6, false, "f"), (5, true, "f")] {
                let renewal = try Facts.legacyRenewal("1000", onDay: day, willRenew: willRenew)
                try await ledger.merge([Facts.receiptEvent(Int64(day), renewals: [renewal])])
                let lines = try await ledger.database.lines("SELECT concat_ws('', will_renew) FROM appstore.contracts")
                #expect(lines == [expected], "day \(day)")
            }
        }
    }
}

/// The owner of a contract whose receipt a user's app posted.
struct ReceiptClaimTests {
    let charge = Facts.Charge("1000", onDay: 0)

    private func receipt(_ charges: [Facts.Charge], onDay day: Double) -> [ReceiptFact] {
        charges.map { $0.receipt(.signedReceipt, onDay: day) }
    }

    @Test func `a user who names the purchase just made becomes the owner of its contract`() async throws {
        try await LedgerFixture.with { ledger in
            let first = ledger.receipt(receipt([charge], onDay: 0), postedBy: "anna", naming: "1000", onDay: 0.1, eventID: 1)
            #expect(try await ledger.post(first) == nil)
            #expect(try await ledger.claims() == ["1000 receipt anna 0"])
            // A second account of the shop buys with the same Apple ID.
            let again = Facts.Charge("1002", onDay: 60)
            let second = ledger.receipt(receipt([charge, again], onDay: 60), postedBy: "berta", naming: "1002", onDay: 60.1, eventID: 2)
            #expect(try await ledger.post(second) == nil)
            #expect(try await ledger.contracts() == ["1000 berta 1002 90"])
            // A late renewal between the two belongs to the first user.
            try await ledger.merge([
                Facts.receiptEvent(3, receipts: receipt([Facts.Charge("1001", onDay: 30.5)], onDay: 61))
            ])
            #expect(try await ledger.orders().sorted() == ["1000 anna paid period", "1001 anna paid period", "1002 berta paid period"])
        }
    }

    @Test func `an automatic renewal was bought in no user's app`() async throws {
        try await LedgerFixture.with { ledger in
            let first = ledger.receipt(receipt([charge], onDay: 0), postedBy: "anna", naming: "1000", onDay: 0.1, eventID: 1)
            try await ledger.post(first)
            let renewal = Facts.Charge("1001", onDay: 30)
            let posted = ledger.receipt(receipt([charge, renewal], onDay: 30), postedBy: "berta", naming: "1001", onDay: 30.1, eventID: 2)
            #expect(try await ledger.post(posted) == .conflict)
            #expect(try await ledger.contracts() == ["1000 anna 1001 60"])
        }
    }

    @Test(arguments: [(3.0, "receipt"), (3.00001, "restored")])
    func `a purchase counts as just made for 72 hours`(day: Double, evidence: String) async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.post(ledger.receipt(receipt([charge], onDay: 0), postedBy: "anna", naming: "1000", onDay: day, eventID: 1))
            let claims = try await ledger.claims()
            #expect(claims.map { $0.split(separator: " ")[1] } == [Substring(evidence)])
        }
    }

    @Test(arguments: [true, false])
    func `without a named purchase, only contracts without an owner get one`(inOrder: Bool) async throws {
        try await LedgerFixture.with { ledger in
            let posts = [
                ledger.receipt(receipt([charge], onDay: 0), postedBy: "anna", onDay: 100, eventID: 1),
                ledger.receipt(receipt([charge], onDay: 0), postedBy: "berta", onDay: 101, eventID: 2),
            ]
            for post in inOrder ? posts : posts.reversed() { try await ledger.post(post) }
            #expect(try await ledger.contracts() == ["1000 anna 1000 30"])
            #expect(try await ledger.claims() == ["1000 restored anna 100"])
        }
    }

    @Test func `the user of the token's order owns the contract, whichever user posts the receipt`() async throws {
        try await LedgerFixture.with { ledger in
            let token = UUID()
            try await ledger.createOrder(token, user: "anna")
            let named = ledger.receipt(
                [Facts.Charge("1000", onDay: 0, token: token).receipt(.latestReceiptInfo, onDay: 0)],
                postedBy: "berta",
                naming: "1000",
                onDay: 0.1,
                eventID: 1
            )
            #expect(try await ledger.post(named) == .conflict)
            #expect(try await ledger.contracts() == ["1000 anna 1000 30"])
            #expect(try await ledger.orders() == ["1000 anna paid token"])
        }
    }

    @Test func `an event about several contracts is found by each of them, and opens one call`() async throws {
        try await LedgerFixture.with { ledger in
            let other = Facts.Charge("2000", onDay: 3).with { $0.contract = "2000" }
            let call = OutboundCall(kind: "verify_receipt", key: "com.example.app:00", bundleID: "com.example.app", eventID: 1)
            for id in [1, 2] as [Int64] {
                try await ledger.merge([Facts.receiptEvent(id, receipts: receipt([charge, other], onDay: 5), calls: [call])])
            }
            let contracts = try await ledger.database.lines(
                "SELECT concat_ws(' ', original_transaction_id, event_id) FROM appstore.event_contracts ORDER BY 1"
            )
            #expect(contracts == ["1000 1", "1000 2", "2000 1", "2000 2"])
            let calls = try await ledger.database.lines("SELECT concat_ws(' ', kind, state, event_id) FROM appstore.outbox")
            #expect(calls == ["verify_receipt open 1"])
        }
    }
}
