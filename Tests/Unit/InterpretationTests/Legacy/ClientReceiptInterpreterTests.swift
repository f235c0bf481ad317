import AppStore
import Ledger
import SignedTesting
import StoreSimulator
import Testing

@testable import Interpretation

/// The facts, posts and calls of a posted receipt.
struct ClientReceiptInterpreterTests {
    private static let posted = SignedScene.now.advanced(by: .seconds(30))

    private static func post(
        transactionID: String? = nil,
        environment: AppStoreEnvironment = .production,
        bundleIDs: [String]? = nil
    ) throws -> ClientReceipt {
        try ClientReceipt(receiptData: "M", user: "anna", transactionID: transactionID, environment: environment, bundleIDs: bundleIDs)
    }

    private static func facts(_ fixture: LegacyFixture, naming transactionID: String? = nil, settings: LegacySettings = .local) throws
        -> EventFacts
    {
        ClientReceiptInterpreter.facts(
            of: try fixture.verified(),
            in: try post(transactionID: transactionID),
            eventID: 9,
            receivedAt: posted,
            settings: settings
        )
    }

    /// A subscription and two products that are paid once.
    private static func fixture() throws -> LegacyFixture {
        try LegacyFixture { life in
            _ = try life.buy(life.catalogue.oneTimeProducts[0])
            _ = try life.buy(life.catalogue.oneTimeProducts[1])
        }
    }

    @Test func `each contract in the receipt has a post, and at most one names a charge`() throws {
        let fixture = try Self.fixture()
        let (contract, coins, lifetime) = (fixture.transactions[0], fixture.transactions[3], fixture.transactions[4])
        let facts = try Self.facts(fixture, naming: fixture.transactions[2].transactionID)
        #expect(facts.receipts.count == 5 && facts.money.count == 5 && facts.notificationUUID == nil)
        #expect(facts.posts.map(\.key.contract.id) == [contract, coins, lifetime].map(\.originalTransactionID))
        #expect(facts.posts.map(\.key.transactionID) == [fixture.transactions[2].transactionID, nil, nil])
        #expect(facts.posts.allSatisfy { $0.key.isReceipt && $0.key.user == "anna" && $0.receivedAt == Self.posted && $0.eventID == 9 })
        #expect(facts.namingPost == facts.posts[0])
        #expect(facts.remark == nil)
        #expect(
            try Self.facts(fixture, naming: coins.transactionID).posts.map(\.key.transactionID) == [nil, coins.transactionID, nil]
        )
    }

    @Test func `without a named charge, or with one outside the receipt, no post names a charge`() throws {
        let fixture = try Self.fixture()
        let (restored, missing) = (try Self.facts(fixture), try Self.facts(fixture, naming: "666"))
        for facts in [restored, missing] {
            #expect(facts.namingPost == nil && facts.receipts.count == 5 && facts.unhandledReason == nil)
            #expect(facts.posts.map(\.key.transactionID) == [nil, nil, nil])
        }
        #expect(restored.remark == nil && missing.remark == "transaction_not_in_receipt")
    }

    @Test func `Apple is asked when there is a secret, once for each content`() throws {
        let fixture = try Self.fixture()
        let calls = try [Self.facts(fixture, settings: SignedScene.asking), Self.facts(fixture, naming: "1", settings: SignedScene.asking)]
            .map(
                \.calls
            )
        #expect(calls.map(\.count) == [1, 1] && calls[0][0].key == calls[1][0].key)
        #expect(calls[0][0].kind == "verify_receipt" && calls[0][0].bundleID == "com.example.app" && calls[0][0].eventID == 9)
        #expect(calls[0][0].key.count == "com.example.app:".count + 64 && calls[0][0].fallback == "unanswered_receipt")
        #expect(ReceiptOutline(receiptData: try fixture.signed())?.callKey == calls[0][0].key)
        let local = LegacySettings(mode: .local, appsWithSecret: [SignedScene.app.bundleID])
        #expect(try Self.facts(fixture, settings: local).calls.isEmpty)
        #expect(try Self.facts(fixture, settings: LegacySettings(mode: .apple, appsWithSecret: [])).calls.isEmpty)
    }

    @Test func `charges wait for Apple's answer, but posts do not`() throws {
        let fixture = try Self.fixture()
        let named = fixture.transactions[2].transactionID
        let (asking, local) = try (Self.facts(fixture, naming: named, settings: SignedScene.asking), Self.facts(fixture, naming: named))
        #expect(asking.receipts.isEmpty && asking.effects.isEmpty)
        #expect(asking.awaitedReceipts.map(\.key) == local.receipts.map(\.key) && asking.contracts == local.contracts)
        #expect(asking.posts == local.posts)
        #expect(asking.remark == "verify_receipt_asked")
        #expect(try Self.facts(fixture, naming: "666", settings: SignedScene.asking).remark == "transaction_not_in_receipt")
        let unanswered = UnansweredReceiptInterpreter.facts(of: try fixture.verified(), eventID: 10)
        #expect(unanswered.receipts.map(\.key) == local.receipts.map(\.key) && unanswered.effects.map(\.key) == local.effects.map(\.key))
        #expect(unanswered.posts.isEmpty && unanswered.calls.isEmpty)
    }

    @Test func `the outline of an unverified receipt has each charge once`() throws {
        let fixture = try Self.fixture()
        let outline = ReceiptOutline(receiptData: try fixture.signed { $0.purchases.append($0.purchases[0]) })
        #expect(outline?.transactionIDs == fixture.transactions.map(\.transactionID))
        #expect(ReceiptOutline(receiptData: "MIIB") == nil && ReceiptOutline(receiptData: "?") == nil)
    }

    @Test func `a malformed unanswered receipt is refused with its reason`() throws {
        func flaw(_ json: String) -> UnansweredReceipt.Malformed? {
            do throws(UnansweredReceipt.Malformed) {
                _ = try UnansweredReceipt(body: Array(json.utf8))
                return nil
            } catch {
                return error
            }
        }
        #expect(flaw(#"{"receiptData":"M"}"#) == nil && flaw("[]") == .notAnObject)
        #expect([#"{}"#, #"{"receiptData":""}"#, #"{"receiptData":7}"#].map(flaw) == [.noReceiptData, .noReceiptData, .noReceiptData])
    }

    @Test func `text that PostgreSQL cannot store is found`() throws {
        let fixture = try LegacyFixture()
        #expect(try !fixture.verified().containsNUL)
        #expect(try fixture.verified { $0.purchases[2].productID = "a\u{0}" }.containsNUL)
        #expect(try fixture.verified { $0.purchases[1].transactionID = "\u{0}" }.containsNUL)
        #expect(try fixture.verified { $0.purchases[0].promotionalOfferID = "b\u{0}" }.containsNUL)
        #expect(try fixture.verified { $0.purchases[0].originalTransactionID = "b\u{0}" }.containsNUL)
    }
}
