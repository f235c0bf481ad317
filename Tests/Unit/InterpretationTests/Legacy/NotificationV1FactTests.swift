import AppStore
import FoundationEssentials
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

@testable import Interpretation

/// The body of a notification V1 adds no charge or refund to those of its receipt.
struct NotificationV1FactTests {
    @Test func `forged entries change nothing, in any version of the format`() throws {
        let fixture = try LegacyFixture()
        let plain = try SignedScene.facts(ofV1: fixture.notification(.refund))
        let forged: JSONObject = [
            "transaction_id": "666", "original_transaction_id": "666", "product_id": "everything", "purchase_date_ms": "1700000000000",
            "expires_date_ms": "1900000000000", "cancellation_date_ms": "1700000000000",
        ]
        let id = fixture.transactions[2].transactionID
        let facts = try SignedScene.facts(
            ofV1: fixture.notification(.refund) { body in
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

    @Test func `without a receipt there is no charge, whatever the body contains`() throws {
        for change in [{ $0["latest_receipt"] = nil }, { $0["latest_receipt"] = "junk" }] as [SignedScene.Change] {
            let facts = try SignedScene.facts(ofV1: LegacyFixture().notification(.initialBuy) { $0.change("unified_receipt", change) })
            #expect(facts.receipts.isEmpty && facts.money.isEmpty && facts.refundStatement == nil)
            #expect(facts.unhandledReason?.hasPrefix("receipt:") == true)
        }
    }

    @Test func `unreadable entries are ignored`() throws {
        let facts = try SignedScene.facts(
            ofV1: LegacyFixture().notification(.didRenew) { body in
                body["latest_receipt_info"] = "none"
                body.change("unified_receipt") { $0["latest_receipt_info"] = [["quantity": "many"], 7, ["transaction_id": []]] }
            }
        )
        #expect(facts.receipts.count == 3 && facts.unhandledReason == nil)
    }

    @Test(arguments: ["latest_receipt", "latest_expired_receipt"])
    func `versions before the unified receipt have the receipt in an outer member`(member: String) throws {
        let fixture = try LegacyFixture()
        let receipt = try fixture.signed()
        let facts = try SignedScene.facts(
            ofV1: fixture.notification(.didRenew) { body in
                body["unified_receipt"] = nil
                body[member] = .string(receipt)
            }
        )
        #expect(facts.receipts.count == 3 && facts.unhandledReason == nil)
        #expect(facts.legacyRenewals.map(\.contract.id) == [fixture.transactions[0].originalTransactionID])
    }

    @Test func `a refund is about the charge that was refunded last; an upgrade is no refund`() throws {
        var refunded: [String] = []
        let fixture = try LegacyFixture { life in
            let first = life.subscription?.transactions[0].transactionID
            _ = try life.refund(first)
            life.advance(by: .seconds(20))
            refunded.append(try life.refund().transactionID ?? "")
        }
        let statement = try #require(try SignedScene.facts(ofV1: fixture.notification(.refund)).refundStatement)
        #expect(statement.kind == .refunded && [statement.transactionID] == refunded && statement.signedDate == fixture.madeAt)
        #expect(statement.key.uuid.uuid.6 >> 4 == 5 && statement.reason == nil)
        #expect(try SignedScene.facts(ofV1: fixture.notification(.cancel)).refundStatement == nil)
        let upgraded = try LegacyFixture { life in
            _ = try life.changePlan(to: life.catalogue.plans(changing: life.catalogue.plans[0], by: .upgrade)[0])
        }
        #expect(try SignedScene.facts(ofV1: upgraded.notification(.refund)).refundStatement == nil)
    }

    @Test func `a consumption request names its charge, or has only one`() throws {
        var coins: [String] = []
        let fixture = try LegacyFixture { life in
            for _ in 0..<2 { coins.append(try life.buy(life.catalogue.oneTimeProducts[0]).transactionID ?? "") }
        }
        func asked(_ change: SignedScene.Change) throws -> (statement: RefundRequestFact?, effect: Effect?) {
            let facts = try SignedScene.facts(ofV1: fixture.notification(.consumptionRequest, change))
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

    @Test func `the end of family sharing is a revocation`() throws {
        let loss = try #require(SignedScene.trigger(NotificationKind(.revoke)).notification().transaction)
        var fixture = try LegacyFixture()
        fixture.transactions.append(loss)
        let date = try #require(loss.revocation?.date)
        let facts = try SignedScene.facts(ofV1: fixture.notification(.revoke))
        #expect(facts.money.last == "revoked \(loss.transactionID)/\(date.millisecondsSince1970 / 1000 * 1000)")
        #expect(!facts.money.contains { $0.hasPrefix("refunded") })
    }

    @Test func `Apple is asked about a receipt that only Apple can read, when there is a secret`() throws {
        let transactionReceipt = Base64.encode(Array(#"{ "signature" = "YQ=="; "purchase-info" = "eyB9"; }"#.utf8))
        let cases: [(receipt: String?, reason: String, isAsked: Bool)] = [
            (transactionReceipt, "receipt:transaction_receipt", true), (nil, "receipt:missing", false),
            ("!", "receipt:receipt_not_base64", false), ("AAAA", "receipt:not_a_receipt", false),
            (Base64.encode([0x30, 0x82, 0, 1]), "receipt:receipt_malformed", true),
        ]
        for (receipt, reason, isAsked) in cases {
            let body = try LegacyFixture().notification(.didRenew) {
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
        #expect(try SignedScene.facts(ofV1: LegacyFixture().notification(.didRenew), settings: SignedScene.asking).calls.isEmpty)
    }
}
