import AppStore
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

@testable import Interpretation

/// The facts of a purchase in a receipt, for each form of the receipt.
struct ReceiptFactTests {
    private static func notification(_ fixture: LegacyFixture) throws -> EventFacts {
        try SignedScene.facts(ofV1: fixture.notification(.didRenew))
    }

    @Test func `a receipt has a fact for each purchase, with the receipt's date`() throws {
        let fixture = try LegacyFixture()
        let facts = try Self.notification(fixture).receipts
        #expect(facts.map(\.key.id) == fixture.transactions.map(\.transactionID))
        #expect(facts.allSatisfy { $0.version.signedDate == fixture.madeAt && $0.bundleID == "com.example.app" })
        #expect(Set(facts.map(\.originalTransactionID)) == [fixture.transactions[0].originalTransactionID])
        let (fact, said) = (try #require(facts.last), try #require(fixture.transactions.last))
        #expect(fact.productID == said.product.id && fact.purchaseDate == said.purchaseDate)
        #expect(fact.content.expiresDate == said.expiresDate && fact.content.webOrderLineItemID == said.webOrderLineItemID)
        #expect(fact.content.quantity == 1 && fact.content.productType == .autoRenewableSubscription && fact.isSubscription)
    }

    @Test func `effects have the same keys as those of the same charges as JWS`() throws {
        var notifications: [SimulatedNotification] = []
        let fixture = try LegacyFixture { life in
            notifications.append(try life.buy(life.catalogue.oneTimeProducts[1]))
            life.advance(by: .milliseconds(1234))
            notifications.append(try life.refund())
        }
        let legacy = Set(try Self.notification(fixture).money)
        for notification in notifications {
            let modern = try SignedScene.facts(of: notification).money
            #expect(!modern.isEmpty && legacy.isSuperset(of: modern), "\(modern) in \(legacy)")
        }
        #expect(legacy.count { $0.hasPrefix("refunded") } == 1)
    }

    @Test func `the date of a refund is in whole seconds, for every source`() throws {
        var purchase = InAppPurchase(try LegacyFixture().transactions[0])
        purchase.cancellationDate = Timestamp(millisecondsSince1970: 1_700_000_000_987)
        let reading = ReceiptReading([ReceiptEntry(purchase)], from: Self.source())
        #expect(reading.effects.last?.key.subject == "\(try #require(reading.facts.first).purchase)/1700000000000")

        let refund = try SignedScene.trigger(NotificationKind(.refund)).notification()
        let date = try #require(refund.transaction?.revocation?.date)
        let jws = try SignedScene.sign(refund, transaction: { $0["revocationDate"] = .timestamp(date.advanced(by: .milliseconds(987))) })
        let facts = try SignedScene.facts(of: jws)
        #expect(facts.money.last == "refunded \(try #require(facts.transaction).purchase)/\(date.millisecondsSince1970 / 1000 * 1000)")
        #expect(facts.effects.last?.occurredAt == date.advanced(by: .milliseconds(987)))
    }

    @Test(
        arguments: [
            (3, nil, .autoRenewableSubscription), (1, nil, nil), (99, nil, nil), (0, "", .nonConsumable), (1, "", .consumable),
            (2, "", .nonRenewingSubscription), (3, "", .autoRenewableSubscription), (99, "", nil), (nil, "", nil),
        ] as [(Int64?, String?, ProductType?)]
    )
    func `the undocumented type counts unless it contradicts members of subscriptions`(
        number: Int64?,
        lineItem: String?,
        type: ProductType?
    ) throws {
        var purchase = InAppPurchase(try LegacyFixture().transactions[0])
        purchase.productType = number.map(ReceiptProductType.init)
        if lineItem != nil { (purchase.webOrderLineItemID, purchase.expiresDate) = (nil, nil) }
        #expect(ReceiptEntry(purchase).content.productType == type)
    }

    @Test(
        arguments: [
            ([:], nil, nil, nil), (["is_trial_period": "true"], 1, nil, "FREE_TRIAL"), (["is_in_intro_offer_period": "true"], 1, nil, nil),
            (["promotional_offer_id": "spring", "is_trial_period": "true"], 2, "spring", "FREE_TRIAL"),
            (["offer_code_ref_name": "press"], 3, "press", nil), (["is_trial_period": "false"], nil, nil, nil),
        ] as [([String: String], Int32?, String?, String?)]
    )
    func `offers are mapped to the values of JWS`(members: [String: String], type: Int32?, identifier: String?, discount: String?) throws {
        let json = JSONObject(members.map { ($0, .string($1)) })
        let content = ReceiptEntry(try ReceiptTransaction(json)).content
        #expect(content.offerType?.rawValue == type && content.offerIdentifier == identifier)
        #expect(content.offerDiscountType?.rawValue == discount)
    }

    @Test func `numbers may be JSON numbers or strings`() throws {
        let strings: JSONObject = [
            "transaction_id": "1", "original_transaction_id": "1", "product_id": "p", "purchase_date_ms": "1700000000000", "quantity": "2",
            "web_order_line_item_id": "77", "cancellation_date_ms": "1700000001000", "cancellation_reason": "1", "is_upgraded": "true",
        ]
        let numbers: JSONObject = [
            "transaction_id": 1, "original_transaction_id": 1, "product_id": "p", "purchase_date_ms": 1_700_000_000_000, "quantity": 2,
            "web_order_line_item_id": 77, "cancellation_date_ms": 1_700_000_001_000, "cancellation_reason": 1, "is_upgraded": true,
        ]
        let facts = try [strings, numbers].map { json in
            ReceiptReading([ReceiptEntry(try ReceiptTransaction(json))], from: Self.source(.latestReceiptInfo)).facts
        }
        #expect(facts[0].count == 1 && facts[0].map(\.version) == facts[1].map(\.version))
        #expect(facts[0][0].content.isUpgraded && facts[0][0].content.revocationDate == nil && facts[0][0].content.quantity == 2)
    }

    @Test func `a purchase without a required member is left out, and the others are not`() throws {
        let fixture = try LegacyFixture()
        let verified = try fixture.verified { receipt in
            receipt.purchases[0].productID = nil
            receipt.purchases[1].purchaseDate = nil
        }
        var facts = EventFacts(eventID: 1, environment: .production, notificationUUID: nil)
        facts.add(verified.reading())
        #expect(facts.receipts.map(\.key.id) == [fixture.transactions[2].transactionID])
        #expect(facts.unhandledReason == "incomplete_transaction:product_id:2")
        let one = try fixture.verified { $0.purchases[1].transactionID = nil }.reading()
        facts.add(one)
        #expect(facts.unhandledReason == "incomplete_transaction:transaction_id")
        #expect(Set(facts.effects.map(\.key)).count == facts.effects.count)
    }

    @Test func `a purchase without an original one is its own contract; an impossible quantity is ignored`() throws {
        let verified = try LegacyFixture().verified { receipt in
            receipt.purchases[0].originalTransactionID = nil
            receipt.purchases[0].quantity = 1 << 40
        }
        let fact = try #require(verified.reading().facts.first)
        #expect(fact.originalTransactionID == fact.key.id && fact.content.quantity == nil)
    }

    static func source(_ form: ReceiptFact.Form = .signedReceipt) -> ReceiptReading.Source {
        ReceiptReading.Source(environment: .production, bundleID: "com.example.app", form: form, statedAt: SignedScene.now)
    }
}
