import AppStore
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

@testable import Interpretation

/// A cancellation is a refund, a revocation or an upgrade; a signed receipt does not say which.
struct CancellationTests {
    private static let date = Timestamp(millisecondsSince1970: 1_700_000_000_000)

    private static func purchase(_ id: String, _ product: String, contract: String = "1", at seconds: Int, cancelled: Int? = nil)
        -> InAppPurchase
    {
        var purchase = InAppPurchase()
        purchase.transactionID = id
        purchase.originalTransactionID = contract
        purchase.productID = product
        purchase.purchaseDate = date.advanced(by: .seconds(seconds))
        purchase.cancellationDate = cancelled.map { date.advanced(by: .seconds($0)) }
        return purchase
    }

    private static func reading(_ purchases: [InAppPurchase], _ entries: [JSONObject] = []) throws -> ReceiptReading {
        ReceiptReading(
            purchases.map(ReceiptEntry.init),
            from: ReceiptFactTests.source(),
            classifiedBy: try entries.map { try ReceiptTransaction($0) }
        )
    }

    @Test(
        arguments: [
            ("another product bought in that second", purchase("2", "pro", at: 0), true),
            ("another product bought a minute later", purchase("2", "pro", at: 60), true),
            ("another product bought a minute before", purchase("2", "pro", at: -60), true),
            ("another product bought later", purchase("2", "pro", at: 61), false),
            ("another product bought earlier", purchase("2", "pro", at: -61), false),
            ("the same product", purchase("2", "plus", at: 0), false),
            ("another contract's product", purchase("2", "pro", contract: "2", at: 0), false),
        ]
    )
    func `a cancellation is an upgrade when another product was bought at that moment`(what: String, other: InAppPurchase, is: Bool)
        throws
    {
        let reading = try Self.reading([Self.purchase("1", "plus", at: -999, cancelled: 0), other])
        let fact = reading.facts[0]
        #expect(fact.content.isUpgraded == `is`, "\(what)")
        #expect(fact.content.revocationDate == (`is` ? nil : Self.date))
        #expect(reading.effects.map(\.key.kind) == (`is` ? [.granted, .granted] : [.granted, .refunded, .granted]))
    }

    @Test(
        arguments: [
            (["is_upgraded": "true"], 0, "upgraded"), (["is_upgraded": "false"], 0, "refunded"), (["is_upgraded": "true"], 1, "refunded"),
            (["in_app_ownership_type": "FAMILY_SHARED"], 0, "revoked"), (["in_app_ownership_type": "PURCHASED"], 0, "refunded"),
            (["in_app_ownership_type": "FAMILY_SHARED"], 1, "refunded"),
        ] as [([String: String], Int, String)]
    )
    func `entries beside the receipt may decide the kind of the same cancellation`(
        members: [String: String],
        seconds: Int,
        kind: String
    ) throws {
        var entry: JSONObject = ["transaction_id": "1", "product_id": "free", "quantity": "99", "app_account_token": "x"]
        for (name, value) in members { entry[name] = .string(value) }
        entry["cancellation_date_ms"] = .integer(Self.date.advanced(by: .seconds(seconds)).millisecondsSince1970)
        let reading = try Self.reading([Self.purchase("1", "plus", at: -999, cancelled: 0)], [entry])
        #expect(reading.effects.map(\.key.kind.rawValue) == ["granted", kind].filter { $0 != "upgraded" })
        let fact = reading.facts[0]
        #expect(fact.content.isUpgraded == (kind == "upgraded"))
        #expect(fact.productID == "plus" && fact.content.inAppOwnershipType == nil && fact.content.quantity == nil)
        let alone = try Self.reading([Self.purchase("1", "plus", at: -999, cancelled: 0)])
        #expect((fact.version == alone.facts[0].version) == (kind != "upgraded"))
    }

    @Test func `entries about a purchase that was not cancelled are ignored`() throws {
        let reading = try Self.reading([Self.purchase("1", "plus", at: 0)], [["transaction_id": "1", "is_upgraded": "true"]])
        #expect(!reading.facts[0].content.isUpgraded && reading.effects.map(\.key.kind) == [.granted])
    }

    @Test func `in Apple's answer the entry itself marks upgrades and family sharing`() throws {
        func reading(_ members: [String: String]) throws -> ReceiptReading {
            var json: JSONObject = [
                "transaction_id": "1", "product_id": "plus", "purchase_date_ms": "1700000000000", "cancellation_date_ms": "1700000001000",
                "cancellation_reason": "1",
            ]
            for (name, value) in members { json[name] = .string(value) }
            return ReceiptReading([ReceiptEntry(try ReceiptTransaction(json))], from: ReceiptFactTests.source(.latestReceiptInfo))
        }
        let refund = try reading([:])
        #expect(refund.facts[0].content.revocationReason == .refundedDueToIssue)
        #expect(refund.effects.last?.key.kind == .refunded && refund.effects.last?.key.subject == "1/1700000001000")
        let upgrade = try reading(["is_upgraded": "true"])
        #expect(upgrade.facts[0].content.isUpgraded && upgrade.facts[0].content.revocationReason == nil && upgrade.effects.count == 1)
        #expect(refund.facts[0].version < upgrade.facts[0].version)
        #expect(try reading(["in_app_ownership_type": "FAMILY_SHARED"]).effects.last?.key.kind == .revoked)
    }

    @Test func `receipt and JWS report an upgrade alike`() throws {
        var upgrade: SimulatedNotification?
        let fixture = try LegacyFixture { life in
            let plus = life.catalogue.plans[0]
            upgrade = try life.changePlan(to: life.catalogue.plans(changing: plus, by: .upgrade)[0])
        }
        var facts = try SignedScene.facts(
            ofV1: fixture.notification(.interactiveRenewal) { body in
                body.change("unified_receipt") { $0["latest_receipt_info"] = nil }
            }
        )
        #expect(facts.receipts.map(\.content.isUpgraded) == [false, false, true, false])
        #expect(facts.money.allSatisfy { $0.hasPrefix("granted") })
        facts = try SignedScene.facts(of: try #require(upgrade))
        #expect(facts.money.allSatisfy { $0.hasPrefix("granted") })
    }
}
