import FoundationEssentials
import AppStore
import AppStoreVerification
import Ledger
import SignedTesting
import StoreSimulator
import Testing

@testable import Handlers

/// What a body may move of money: nothing but what its receipt says.
struct NotificationV1FactTests {
    @Test func `forged entries move nothing, in whatever vintage they are written`() throws {
        let shelf = try Shelf()
        let plain = try SignedScene.facts(ofV1: shelf.notification(.refund))
        let forged: JSONObject = [
            "transaction_id": "666", "original_transaction_id": "666", "product_id": "everything", "purchase_date_ms": "1700000000000",
            "expires_date_ms": "1900000000000", "cancellation_date_ms": "1700000000000",
        ]
        let id = shelf.transactions[2].transactionID
        let facts = try SignedScene.facts(
            ofV1: shelf.notification(.refund) { body in
                body["latest_receipt_info"] = .object(forged)
                body["latest_expired_receipt_info"] = .object(forged)
                body["cancellation_date_ms"] = "1700000000000"
                body.change("unified_receipt") { unified in
                    unified.changeEach("latest_receipt_info") { entry in
                        entry["expires_date_ms"] = "1900000000000"
                        entry["quantity"] = "99"
                        entry["in_app_ownership_type"] = "FAMILY_SHARED"
                        entry["app_account_token"] = "b2158121-7af9-49d4-9561-1f588205523e"
                        if entry["transaction_id"] == .string(id) { entry["cancellation_date_ms"] = "1700000000000" }
                    }
                    if case .array(let entries)? = unified["latest_receipt_info"] {
                        unified["latest_receipt_info"] = .array(entries + [.object(forged)])
                    }
                }
            }
        )
        #expect(facts.receipts.map(\.version) == plain.receipts.map(\.version))
        #expect(facts.money == plain.money && facts.money.allSatisfy { $0.hasPrefix("granted") })
        #expect(facts.refundStatement == nil && facts.legacyRenewals.map(\.version) == plain.legacyRenewals.map(\.version))
    }

    @Test func `without a receipt there is no charge, whatever the body tells of`() throws {
        for change in [{ $0["latest_receipt"] = nil }, { $0["latest_receipt"] = "junk" }] as [SignedScene.Change] {
            let facts = try SignedScene.facts(ofV1: Shelf().notification(.initialBuy) { $0.change("unified_receipt", change) })
            #expect(facts.receipts.isEmpty && facts.money.isEmpty && facts.refundStatement == nil)
            #expect(facts.unhandledReason?.hasPrefix("receipt:") == true)
        }
    }

    @Test func `entries that cannot be read do no harm`() throws {
        let facts = try SignedScene.facts(
            ofV1: Shelf().notification(.didRenew) { body in
                body["latest_receipt_info"] = "none"
                body.change("unified_receipt") { $0["latest_receipt_info"] = [["quantity": "many"], 7, ["transaction_id": []]] }
            }
        )
        #expect(facts.receipts.count == 3 && facts.unhandledReason == nil)
    }

    @Test(arguments: ["latest_receipt", "latest_expired_receipt"])
    func `the vintages before the unified receipt have it outside`(member: String) throws {
        let shelf = try Shelf()
        let receipt = try shelf.signed()
        let facts = try SignedScene.facts(
            ofV1: shelf.notification(.didRenew) { body in
                body["unified_receipt"] = nil
                body[member] = .string(receipt)
            }
        )
        #expect(facts.receipts.count == 3 && facts.unhandledReason == nil)
        #expect(facts.legacyRenewals.map(\.contract.id) == [shelf.transactions[0].originalTransactionID])
    }

    @Test func `a refund is the charge that was refunded last, an upgrade none`() throws {
        var refunded: [String] = []
        let shelf = try Shelf { life in
            let first = life.subscription?.transactions[0].transactionID
            _ = try life.refund(first)
            life.advance(by: .seconds(20))
            refunded.append(try life.refund().transactionID ?? "")
        }
        let statement = try #require(try SignedScene.facts(ofV1: shelf.notification(.refund)).refundStatement)
        #expect(statement.kind == .refunded && [statement.transactionID] == refunded && statement.signedDate == shelf.madeAt)
        #expect(statement.key.uuid.uuid.6 >> 4 == 5 && statement.reason == nil)
        #expect(try SignedScene.facts(ofV1: shelf.notification(.cancel)).refundStatement == nil)
        let upgraded = try Shelf { life in
            _ = try life.changePlan(to: life.catalogue.plans(changing: life.catalogue.plans[0], by: .upgrade)[0])
        }
        #expect(try SignedScene.facts(ofV1: upgraded.notification(.refund)).refundStatement == nil)
    }

    @Test func `a request about consumption names its charge, or tells of only one`() throws {
        var coins: [String] = []
        let shelf = try Shelf { life in
            for _ in 0..<2 { coins.append(try life.buy(life.catalogue.oneTimeProducts[0]).transactionID ?? "") }
        }
        func asked(_ change: SignedScene.Change) throws -> (statement: RefundStatement?, effect: Effect?) {
            let facts = try SignedScene.facts(ofV1: shelf.notification(.consumptionRequest, change))
            return (facts.refundStatement, facts.others.first)
        }
        let named = try asked { $0["original_transaction_id"] = .string(coins[1]) }
        #expect(named.statement?.kind == .asked && named.statement?.transactionID == coins[1])
        #expect(named.effect?.key.kind == .consumptionAsked && named.effect?.transactionID == coins[1])
        #expect(named.effect?.originalTransactionID == coins[1])
        let told = try asked { body in
            body.change("unified_receipt") { $0["latest_receipt_info"] = [["transaction_id": .string(coins[0])], ["transaction_id": "0"]] }
        }
        #expect(told.statement?.transactionID == coins[0] && told.effect?.transactionID == coins[0])
        let unclear = try asked { _ in }
        #expect(unclear.statement == nil && unclear.effect?.transactionID == nil)
    }

    @Test func `a family member who loses what was shared is told as such`() throws {
        let loss = try #require(SignedScene.trigger(NotificationKind(.revoke)).notification().transaction)
        var shelf = try Shelf()
        shelf.transactions.append(loss)
        let date = try #require(loss.revocation?.date)
        let facts = try SignedScene.facts(ofV1: shelf.notification(.revoke))
        #expect(facts.money.last == "revoked \(loss.transactionID)/\(date.millisecondsSince1970 / 1000 * 1000)")
        #expect(!facts.money.contains { $0.hasPrefix("refunded") })
    }

    @Test func `Apple is asked about a receipt that only Apple can read, when there is a secret to ask with`() throws {
        let transactionReceipt = Base64.encode(Array(#"{ "signature" = "YQ=="; "purchase-info" = "eyB9"; }"#.utf8))
        let cases: [(receipt: String?, reason: String, isAsked: Bool)] = [
            (transactionReceipt, "receipt:transaction_receipt", true), (nil, "receipt:missing", false),
            ("!", "receipt:receipt_not_base64", false), ("AAAA", "receipt:not_a_receipt", false),
            (Base64.encode([0x30, 0x82, 0, 1]), "receipt:receipt_malformed", true),
        ]
        for (receipt, reason, isAsked) in cases {
            let body = try Shelf().notification(.didRenew) {
                $0.change("unified_receipt") { $0["latest_receipt"] = receipt.map(JSONValue.string) }
            }
            let facts = try SignedScene.facts(ofV1: body, settings: SignedScene.asking)
            #expect(facts.unhandledReason == reason && facts.calls.count == (isAsked ? 1 : 0), "\(reason)")
            #expect(facts.calls.allSatisfy { $0.kind == "verify_receipt" && $0.key.hasPrefix("com.example.app:") && $0.eventID == 1 })
            #expect(try SignedScene.facts(ofV1: body).calls.isEmpty)
            let others = LegacySettings(mode: .apple, appsWithSecret: ["com.example.other"])
            #expect(try SignedScene.facts(ofV1: body, settings: others).calls.isEmpty)
            #expect(receipt == nil || PostedReceipt.data(inEventBody: JSONSerializer.serialize(body)) == receipt)
        }
        #expect(try SignedScene.facts(ofV1: Shelf().notification(.didRenew), settings: SignedScene.asking).calls.isEmpty)
    }
}
