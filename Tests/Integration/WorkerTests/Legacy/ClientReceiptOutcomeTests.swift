import AppStore
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The outcomes of posted receipts, and of Apple's answers about them.
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
        try ReceiptScene(body, source: source).outcome
    }

    @Test func `a malformed body is rejected with its reason`() throws {
        #expect(try outcome(Array("[]".utf8)) == "rejected not_a_json_object")
        #expect(try outcome(Array(#"{"receiptData":"M"}"#.utf8)) == "rejected malformed_user")
    }

    @Test func `a receipt that is not genuine is rejected with the verifier's reason`() throws {
        #expect(try outcome(Self.post("?")) == "rejected receipt_not_base64")
        #expect(try outcome(Self.post("AAAA")) == "rejected not_a_receipt")
        let transaction = Base64.encode(Array(#"{ "signature" = "YQ=="; "purchase-info" = "eyB9"; }"#.utf8))
        let scene = try ReceiptScene(Self.post(transaction), source: "client_receipt", legacy: ReceiptScene.asking)
        #expect(scene.outcome == "rejected transaction_receipt" && scene.facts == nil)
    }

    @Test func `of the forms in which apps send a receipt, line breaks are read, and other encodings are refused`() throws {
        let receipt = try LegacyFixture().signed()
        #expect(receipt.contains("+") && receipt.contains("/"))
        let lines = stride(from: 0, to: receipt.count, by: 76).map { String(receipt.dropFirst($0).prefix(76)) }
        for broken in [lines.joined(separator: "\r\n"), " \(receipt)\n"] { #expect(try outcome(Self.post(broken)) == "merge") }
        for wrong in [
            receipt.replacing("+", with: "-").replacing("/", with: "_"), receipt.replacing("+", with: "%2B"), "\"\(receipt)\"",
            "data:application/octet-stream;base64," + receipt, receipt.prefix(76) + "\\n" + receipt.dropFirst(76),
            // Without its last sign, which may be padding, or with the blank that a form makes of "+".
            String(receipt.dropLast()), receipt.replacing("+", with: " ", maxReplacements: 1),
        ] { #expect(try outcome(Self.post(wrong)) == "rejected receipt_not_base64", "\(wrong.prefix(20))") }
    }

    @Test func `a genuine receipt of another environment or app is rejected, with labels`() throws {
        let (production, sandbox) = (try LegacyFixture().signed(), try LegacyFixture(SignedScene.sandboxApp).signed())
        let wrong = try ReceiptScene(Self.post(sandbox), source: "client_receipt")
        #expect((wrong.outcome, wrong.labels) == ("rejected wrong_environment", "- - Sandbox com.example.app - -"))
        #expect(try outcome(Self.post(production, environment: .sandbox)) == "rejected wrong_environment")
        #expect(try outcome(Self.post(production, bundleIDs: ["com.example.other"])) == "rejected wrong_bundle")
        let foreign = try ReceiptScene(
            Self.post(LegacyFixture(SimulatedApp(bundleID: "com.example.other")).signed()),
            source: "client_receipt"
        )
        #expect((foreign.outcome, foreign.labels) == ("rejected wrong_bundle", "- - Production com.example.other - -"))
        #expect(try outcome(Self.post(LegacyFixture().signed { $0.purchases[0].productID = "\u{0}" })) == "unhandled nul_in_payload")
    }

    @Test func `a genuine receipt is merged, labelled with the named purchase`() throws {
        let fixture = try LegacyFixture()
        let (id, contract) = (fixture.transactions[2].transactionID, fixture.transactions[0].originalTransactionID)
        let named = try ReceiptScene(Self.post(fixture.signed(), transactionID: id), source: "client_receipt", legacy: ReceiptScene.asking)
        #expect((named.outcome, named.labels) == ("merge verify_receipt_asked", "- - Production com.example.app \(id) \(contract)"))
        #expect(named.facts?.posts.count == 1 && named.facts?.calls.count == 1)
        let missing = try ReceiptScene(Self.post(fixture.signed(), transactionID: "6"), source: "client_receipt")
        #expect((missing.outcome, missing.labels) == ("merge transaction_not_in_receipt", "- - Production com.example.app - \(contract)"))
    }

    @Test func `a receipt from the future is retried`() throws {
        var fixture = try LegacyFixture()
        fixture.madeAt = SignedScene.now.advanced(by: .seconds(600))
        #expect(try outcome(Self.post(fixture.signed())) == "retry signed_in_the_future")
        #expect(try ReceiptScene(Self.post(fixture.signed()), source: "client_receipt", claimedAt: fixture.madeAt).outcome == "merge")
    }

    @Test func `Apple's answer is merged, and refused when its app or environment is not configured`() throws {
        let answer = try LegacyFixture().answer()
        let scene = try ReceiptScene(answer.json, source: "verify_receipt")
        #expect(scene.outcome == "merge" && scene.facts?.receipts.count == 9 && scene.facts?.legacyRenewals.count == 1)
        #expect(scene.labels.hasPrefix("- - Production com.example.app - "))
        func outcome(_ change: SignedScene.Change) throws -> String {
            var json = answer.json
            change(&json)
            return try ReceiptScene(json, source: "verify_receipt").outcome
        }
        #expect(try self.outcome(Array("{".utf8), source: "verify_receipt") == "unusable, unhandled not_json")
        #expect(try outcome { $0["receipt"] = 7 } == "unusable, unhandled unreadable_member:receipt")
        #expect(try outcome { $0["environment"] = "a\u{0}" } == "unusable, unhandled unreadable_member:environment")
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

    @Test func `a receipt without Apple's answer is merged as it is`() throws {
        let fixture = try LegacyFixture()
        func unanswered(_ receipt: String) throws -> ReceiptScene {
            try ReceiptScene(["receiptData": .string(receipt)], source: "unanswered_receipt", legacy: ReceiptScene.asking)
        }
        let scene = try unanswered(fixture.signed())
        #expect(scene.outcome == "merge" && scene.facts?.receipts.count == 3 && scene.facts?.calls.isEmpty == true)
        #expect(scene.labels == "- - Production com.example.app - \(fixture.transactions[0].originalTransactionID)")
        #expect(try unanswered("AAAA").outcome == "rejected not_a_receipt")
        #expect(try unanswered(fixture.signed { $0.purchases[0].productID = "\u{0}" }).outcome == "unhandled nul_in_payload")
        #expect(try outcome(Array("{}".utf8), source: "unanswered_receipt") == "rejected no_receipt_data")
    }

    @Test func `an answer with a receipt from the future is retried`() throws {
        var fixture = try LegacyFixture()
        fixture.madeAt = SignedScene.now.advanced(by: .seconds(600))
        let json = try fixture.answer().json
        #expect(try ReceiptScene(json, source: "verify_receipt").outcome == "retry signed_in_the_future")
        #expect(try ReceiptScene(json, source: "verify_receipt", claimedAt: fixture.madeAt).outcome == "merge")
    }
}
