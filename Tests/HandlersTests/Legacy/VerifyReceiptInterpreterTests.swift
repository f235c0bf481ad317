import AppStore
import AppStoreVerification
import Handlers
import Ledger
import SignedTesting
import StoreSimulator
import Testing

/// What Apple answers about a receipt.
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
        var shelf = try Shelf()
        let asked = shelf.receipt
        shelf.transactions[2].expiresDate = shelf.transactions[2].expiresDate?.advanced(by: .seconds(86_400))
        var answer = try shelf.answer()
        answer.receipt = asked
        answer.receipt.creationDate = shelf.madeAt.advanced(by: .seconds(-1000))
        let facts = try Self.facts(answer.json)
        let dates = Dictionary(grouping: facts.receipts, by: \.version.signedDate)
        #expect(dates.mapValues(\.count) == [shelf.askedAt: 3, shelf.madeAt: 3, shelf.madeAt.advanced(by: .seconds(-1000)): 3])
        #expect(dates[shelf.askedAt]?.last?.content.expiresDate == shelf.transactions[2].expiresDate)
        #expect(dates[shelf.askedAt]?.last?.content.inAppOwnershipType == .purchased)
        #expect(dates[shelf.madeAt]?.last?.content.productType == .autoRenewableSubscription)
        #expect(facts.legacyRenewals.map(\.version.signedDate) == [shelf.askedAt])
        #expect(facts.legacyRenewals.map(\.provenance) == [.verifyReceipt])
        #expect(facts.money.count == 3 && facts.effects.count == 3 && facts.notificationUUID == nil && facts.unhandledReason == nil)
    }

    @Test func `of one second, the form that says more has the higher version`() throws {
        var shelf = try Shelf()
        shelf.askedAt = shelf.madeAt
        let facts = try Self.facts(shelf.answer().json).receipts
        let versions = Dictionary(grouping: facts, by: \.key).values.map { $0.map(\.version).sorted().map { $0.hash[0] } }
        #expect(versions == [[1, 2, 3], [1, 2, 3], [1, 2, 3]])
    }

    @Test func `what was cancelled is of the kind that Apple names, also where the receipt does not`() throws {
        var shelf = try Shelf()
        shelf.transactions[1].isUpgraded = true
        shelf.transactions[1].upgradedAt = shelf.madeAt
        let facts = try Self.facts(shelf.answer().json)
        let upgraded = facts.receipts.filter { $0.key.id == shelf.transactions[1].transactionID }
        #expect(upgraded.count == 3 && upgraded.allSatisfy { $0.content.isUpgraded && $0.content.revocationDate == nil })
        #expect(facts.money.allSatisfy { $0.hasPrefix("granted") })
    }

    @Test func `a receipt of somebody else's in the answer is passed over`() throws {
        let (shelf, sandbox) = (try Shelf(), try Shelf(SignedScene.sandboxApp))
        let facts = VerifyReceiptInterpreter.facts(of: try Self.answer(shelf.answer().json), latest: try sandbox.verified(), eventID: 5)
        #expect(facts.receipts.count == 6 && facts.receipts.allSatisfy { $0.key.environment == .production })
    }

    @Test func `entries without what the books need are left out and counted`() throws {
        var json = try Shelf().answer().json
        json.changeEach("latest_receipt_info") { $0["product_id"] = nil }
        let facts = try Self.facts(json)
        #expect(facts.unhandledReason == "incomplete_transaction:product_id:3" && facts.receipts.count == 6)
    }

    @Test func `an answer about nothing that we know is refused with its reason`() throws {
        let shelf = try Shelf()
        func refusal(_ change: SignedScene.Change) throws -> ReceiptAnswer.Refusal? {
            var json = try shelf.answer().json
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

    @Test func `the answer about an iOS 6 style receipt has no date but that of its arrival`() throws {
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

    @Test func `an expired subscription of an iOS 6 style receipt tells its charges, and of its renewal in the outermost members`() throws {
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
