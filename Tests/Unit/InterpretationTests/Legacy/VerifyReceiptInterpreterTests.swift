import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The facts of Apple's answers about receipts.
struct VerifyReceiptInterpreterTests {
    private static func answer(_ json: JSONObject, receivedAt: Timestamp = SignedScene.now) throws -> ReceiptAnswer {
        let response = try VerifyReceiptResponse(JSONParser().parseObject(JSONSerializer.serialize(json)))
        return try ReceiptAnswer(response, receivedAt: receivedAt, policy: SignedScene.receiptVerifier().policy)
    }

    private static func facts(_ json: JSONObject) throws -> EventFacts {
        let answer = try answer(json)
        let latest = try answer.response.latestReceipt.map { try SignedScene.verify(receipt: $0) }
        return VerifyReceiptInterpreter.facts(of: answer, latest: latest, eventID: 5)
    }

    @Test func `each part has its own version`() throws {
        var fixture = try LegacyFixture()
        let asked = fixture.receipt
        fixture.transactions[2].expiresDate = fixture.transactions[2].expiresDate?.advanced(by: .seconds(86_400))
        var answer = try fixture.answer()
        answer.receipt = asked
        answer.receipt.creationDate = fixture.madeAt.advanced(by: .seconds(-1000))
        let facts = try Self.facts(answer.json)
        let dates = Dictionary(grouping: facts.receipts, by: \.version.signedDate)
        #expect(dates.mapValues(\.count) == [fixture.askedAt: 3, fixture.madeAt: 3, fixture.madeAt.advanced(by: .seconds(-1000)): 3])
        #expect(dates[fixture.askedAt]?.last?.content.expiresDate == fixture.transactions[2].expiresDate)
        #expect(dates[fixture.askedAt]?.last?.content.inAppOwnershipType == .purchased)
        #expect(dates[fixture.madeAt]?.last?.content.productType == .autoRenewableSubscription)
        #expect(facts.legacyRenewals.map(\.version.signedDate) == [fixture.askedAt])
        #expect(facts.legacyRenewals.map(\.provenance) == [.verifyReceipt])
        #expect(facts.money.count == 3 && facts.effects.count == 3 && facts.notificationUUID == nil && facts.unhandledReason == nil)
    }

    @Test func `within a second, the form with more members has the higher version`() throws {
        var fixture = try LegacyFixture()
        fixture.askedAt = fixture.madeAt
        let facts = try Self.facts(fixture.answer().json).receipts
        let versions = Dictionary(grouping: facts, by: \.key).values.map { $0.map(\.version).sorted().map { $0.hash[0] } }
        #expect(versions == [[1, 2, 3], [1, 2, 3], [1, 2, 3]])
    }

    @Test func `a cancellation has the kind that Apple names, also where the receipt has none`() throws {
        var fixture = try LegacyFixture()
        fixture.transactions[1].isUpgraded = true
        fixture.transactions[1].upgradedAt = fixture.madeAt
        let facts = try Self.facts(fixture.answer().json)
        let upgraded = facts.receipts.filter { $0.key.id == fixture.transactions[1].transactionID }
        #expect(upgraded.count == 3 && upgraded.allSatisfy { $0.content.isUpgraded && $0.content.revocationDate == nil })
        #expect(facts.money.allSatisfy { $0.hasPrefix("granted") })
    }

    @Test func `a receipt of another app in the answer is ignored`() throws {
        let (fixture, sandbox) = (try LegacyFixture(), try LegacyFixture(SignedScene.sandboxApp))
        let facts = VerifyReceiptInterpreter.facts(of: try Self.answer(fixture.answer().json), latest: try sandbox.verified(), eventID: 5)
        #expect(facts.receipts.count == 6 && facts.receipts.allSatisfy { $0.key.environment == .production })
    }

    @Test func `entries without a required member are left out and counted`() throws {
        var json = try LegacyFixture().answer().json
        json.changeEach("latest_receipt_info") { $0["product_id"] = nil }
        let facts = try Self.facts(json)
        #expect(facts.unhandledReason == "incomplete_transaction:product_id:3" && facts.receipts.count == 6)
    }

    @Test func `an answer about an app or environment that is not configured is refused with its reason`() throws {
        let fixture = try LegacyFixture()
        func refusal(_ change: SignedScene.Change) throws -> ReceiptAnswer.Refusal? {
            var json = try fixture.answer().json
            change(&json)
            do {
                _ = try Self.answer(json)
                return nil
            } catch let refusal as ReceiptAnswer.Refusal {
                return refusal
            }
        }
        #expect(try refusal { _ in } == nil)
        #expect(try refusal { $0["status"] = 21003 } == .notValid && refusal { $0["status"] = nil } == .notValid)
        #expect(try refusal { $0["environment"] = nil } == nil)
        #expect(
            try refusal { json in
                json["environment"] = nil
                json.change("receipt") { $0["receipt_type"] = nil }
            } == .environmentMissing
        )
        #expect(try refusal { $0["environment"] = "Xcode" } == .wrongEnvironment)
        #expect(try refusal { $0.change("receipt") { $0["bundle_id"] = nil } } == .bundleMissing)
        #expect(try refusal { $0.change("receipt") { $0["bundle_id"] = "com.example.other" } } == .wrongBundle)
        #expect(try refusal { $0.change("receipt") { ($0["request_date"], $0["request_date_ms"]) = (nil, nil) } } == .requestDateMissing)
    }

    @Test func `the answer about an iOS 6 style receipt has the date of its arrival`() throws {
        let transaction: JSONObject = [
            "bid": "com.example.app", "transaction_id": "1", "original_transaction_id": "1", "product_id": "plus",
            "purchase_date_ms": "1700000000000", "expires_date": "1702000000000", "web_order_line_item_id": "2",
        ]
        let json: JSONObject = [
            "status": 0, "environment": "Production", "receipt": .object(transaction), "latest_receipt_info": .object(transaction),
        ]
        let facts = VerifyReceiptInterpreter.facts(of: try Self.answer(json), latest: nil, eventID: 5)
        #expect(facts.receipts.map(\.version.signedDate) == [SignedScene.now, SignedScene.now])
        #expect(
            facts.money == ["granted 1/2"]
                && facts.receipts.allSatisfy { $0.content.expiresDate?.millisecondsSince1970 == 1_702_000_000_000 }
        )
    }

    @Test func `the answer about an expired iOS 6 style receipt has charges, and the renewal in the outermost members`() throws {
        let transaction: JSONObject = [
            "bid": "com.example.app", "transaction_id": "1", "original_transaction_id": "1", "product_id": "plus",
            "purchase_date_ms": "1700000000000", "expires_date": "1702000000000", "web_order_line_item_id": "2",
        ]
        let json: JSONObject = [
            "status": 21006, "environment": "Production", "receipt": .object(transaction),
            "latest_expired_receipt_info": .object(transaction), "auto_renew_status": 0, "auto_renew_product_id": "plus",
            "expiration_intent": "2", "is_in_billing_retry_period": "1",
        ]
        let facts = VerifyReceiptInterpreter.facts(of: try Self.answer(json), latest: nil, eventID: 5)
        #expect(facts.receipts.count == 2 && facts.money == ["granted 1/2"])
        let renewal = try #require(facts.legacyRenewals.first)
        #expect(renewal.contract.id == "1" && renewal.renewal.autoRenewStatus == .off && renewal.renewal.isInBillingRetryPeriod == true)
        #expect(facts.legacyRenewals.count == 1 && renewal.version.signedDate == SignedScene.now)
    }
}
