import AppStore
import Handlers
import Ledger
import SignedTesting
import StoreSimulator
import Testing

/// What becomes of a receipt that a client posts, and of what Apple answers about it.
struct ClientReceiptOutcomeTests {
    private static func post(
        _ receipt: String,
        transactionID: String? = nil,
        environment: AppStoreEnvironment = .production,
        bundleIDs: [String]? = nil
    ) throws -> [UInt8] {
        try ClientReceipt(
            receiptData: receipt,
            user: "anna",
            transactionID: transactionID,
            environment: environment,
            bundleIDs: bundleIDs
        ).body
    }

    private func outcome(_ body: [UInt8], source: String = "client_receipt") throws -> String {
        try Desk(body, source: source).outcome
    }

    @Test func `a body that is none is rejected with its reason`() throws {
        #expect(try outcome(Array("[]".utf8)) == "rejected not_a_json_object")
        #expect(try outcome(Array(#"{"receiptData":"M"}"#.utf8)) == "rejected malformed_user")
    }

    @Test func `a receipt that is not genuine is rejected with the verifier's reason`() throws {
        #expect(try outcome(Self.post("?")) == "rejected receipt_not_base64")
        #expect(try outcome(Self.post("AAAA")) == "rejected not_a_receipt")
        let transaction = Base64.encode(Array(#"{ "signature" = "YQ=="; "purchase-info" = "eyB9"; }"#.utf8))
        let desk = try Desk(Self.post(transaction), source: "client_receipt", legacy: Desk.asking)
        #expect(desk.outcome == "rejected transaction_receipt" && desk.facts == nil)
    }

    @Test func `a genuine receipt that was not asked for is rejected, and says of what it is`() throws {
        let (production, sandbox) = (try Shelf().signed(), try Shelf(SignedScene.sandboxApp).signed())
        let wrong = try Desk(Self.post(sandbox), source: "client_receipt")
        #expect((wrong.outcome, wrong.labels) == ("rejected wrong_environment", "- - Sandbox com.example.app - -"))
        #expect(try outcome(Self.post(production, environment: .sandbox)) == "rejected wrong_environment")
        #expect(try outcome(Self.post(production, bundleIDs: ["com.example.other"])) == "rejected wrong_bundle")
        let foreign = try Desk(
            Self.post(Shelf(SimulatedApp(bundleID: "com.example.other")).signed()),
            source: "client_receipt"
        )
        #expect((foreign.outcome, foreign.labels) == ("rejected wrong_bundle", "- - Production com.example.other - -"))
        #expect(try outcome(Self.post(Shelf().signed { $0.purchases[0].productID = "\u{0}" })) == "rejected nul_in_payload")
    }

    @Test func `a genuine one is merged, labelled by the purchase that it names`() throws {
        let shelf = try Shelf()
        let (id, contract) = (shelf.transactions[2].transactionID, shelf.transactions[0].originalTransactionID)
        let named = try Desk(Self.post(shelf.signed(), transactionID: id), source: "client_receipt", legacy: Desk.asking)
        #expect((named.outcome, named.labels) == ("merge verify_receipt_asked", "- - Production com.example.app \(id) \(contract)"))
        #expect(named.facts?.posts.count == 1 && named.facts?.calls.count == 1)
        let missing = try Desk(Self.post(shelf.signed(), transactionID: "6"), source: "client_receipt")
        #expect((missing.outcome, missing.labels) == ("merge transaction_not_in_receipt", "- - Production com.example.app - \(contract)"))
    }

    @Test func `one from the future waits`() throws {
        var shelf = try Shelf()
        shelf.madeAt = SignedScene.now.advanced(by: .seconds(600))
        #expect(try outcome(Self.post(shelf.signed())) == "retry signed_in_the_future")
        #expect(try Desk(Self.post(shelf.signed()), source: "client_receipt", claimedAt: shelf.madeAt).outcome == "merge")
    }

    @Test func `Apple's answer is merged, and refused when it is about nothing that we know`() throws {
        let answer = try Shelf().answer()
        let desk = try Desk(answer.json, source: "verify_receipt")
        #expect(desk.outcome == "merge" && desk.facts?.receipts.count == 9 && desk.facts?.legacyRenewals.count == 1)
        #expect(desk.labels.hasPrefix("- - Production com.example.app - "))
        func outcome(_ change: SignedScene.Change) throws -> String {
            var json = answer.json
            change(&json)
            return try Desk(json, source: "verify_receipt").outcome
        }
        #expect(try self.outcome(Array("{".utf8), source: "verify_receipt") == "unusable, rejected not_json")
        #expect(try outcome { $0["receipt"] = 7 } == "unusable, rejected malformed_payload")
        #expect(try outcome { $0["environment"] = "a\u{0}" } == "unusable, rejected nul_in_payload")
        #expect(try outcome { $0["environment"] = "Xcode" } == "unusable, rejected wrong_environment")
        #expect(
            try outcome {
                $0.change("receipt") {
                    $0["request_date_ms"] = nil; $0["request_date"] = nil
                }
            } == "unusable, rejected request_date_missing"
        )
        #expect(try outcome { $0["latest_receipt"] = "junk" } == "merge")
        #expect(
            try outcome {
                $0.changeEach("latest_receipt_info") {
                    $0["purchase_date_ms"] = nil; $0["purchase_date"] = nil
                }
            } == "merge incomplete_transaction:purchase_date:3"
        )
    }

    @Test func `a receipt that Apple has not answered for speaks for itself`() throws {
        let shelf = try Shelf()
        func unanswered(_ receipt: String) throws -> Desk {
            try Desk(["receiptData": .string(receipt)], source: "unanswered_receipt", legacy: Desk.asking)
        }
        let desk = try unanswered(shelf.signed())
        #expect(desk.outcome == "merge" && desk.facts?.receipts.count == 3 && desk.facts?.calls.isEmpty == true)
        #expect(desk.labels == "- - Production com.example.app - \(shelf.transactions[0].originalTransactionID)")
        #expect(try unanswered("AAAA").outcome == "rejected not_a_receipt")
        #expect(try unanswered(shelf.signed { $0.purchases[0].productID = "\u{0}" }).outcome == "rejected nul_in_payload")
        #expect(try outcome(Array("{}".utf8), source: "unanswered_receipt") == "rejected no_receipt_data")
    }

    @Test func `an answer with a receipt from the future waits for it`() throws {
        var shelf = try Shelf()
        shelf.madeAt = SignedScene.now.advanced(by: .seconds(600))
        let json = try shelf.answer().json
        #expect(try Desk(json, source: "verify_receipt").outcome == "retry signed_in_the_future")
        #expect(try Desk(json, source: "verify_receipt", claimedAt: shelf.madeAt).outcome == "merge")
    }
}
