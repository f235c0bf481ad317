import AppStore
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// The outcomes of notifications V1.
struct NotificationV1OutcomeTests {
    private static let source = "notification_v1"

    private func expect(_ outcome: String, _ body: String) throws {
        #expect(try ReceiptScene(Array(body.utf8), source: Self.source).outcome == outcome, "\(body)")
    }

    private func expect(_ outcome: String, labels: String? = nil, _ change: SignedScene.Change) throws {
        let scene = try ReceiptScene(LegacyFixture().notification(.didRenew, change), source: Self.source)
        #expect(scene.outcome == outcome)
        if let labels { #expect(scene.labels == labels) }
    }

    @Test func `a body that its secret vouches for and that cannot be read is unhandled`() throws {
        try expect("unhandled not_json", "")
        try expect("unhandled not_json", "[]")
        try expect("unhandled not_json", #"{"notification_type":"REFUND","bid":"a","bid":"b"}"#)
        try expect(
            "unhandled not_json",
            #"{"notification_type":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}"
        )
        try expect("unhandled unreadable_member:environment", #"{"notification_type":"REFUND","environment":["PROD"]}"#)
        try expect("unhandled unreadable_member:unified_receipt", #"{"notification_type":"REFUND","unified_receipt":"{}"}"#)
        try expect("rejected environment_missing", #"{"notification_type":"REFUND","bid":"com.example.app"}"#)
        try expect("rejected bundle_missing", #"{"notification_type":"REFUND","environment":"PROD"}"#)
    }

    @Test func `a notification about another app or environment is rejected, with labels`() throws {
        try expect("rejected wrong_environment", labels: "DID_RENEW - Xcode com.example.app - -") { $0["environment"] = "Xcode" }
        try expect("rejected environment_mismatch") { $0["environment"] = "Sandbox" }
        try expect("rejected wrong_bundle", labels: "DID_RENEW - Production com.example.other - -") { $0["bid"] = "com.example.other" }
        let foreign = try LegacyFixture(SimulatedApp(bundleID: "com.example.other", appAppleID: 7)).signed()
        let theirs: SignedScene.Change = { $0.change("unified_receipt") { $0["latest_receipt"] = .string(foreign) } }
        try expect("rejected bundle_mismatch", theirs)
    }

    @Test func `a valid notification is merged, labelled with its contract and its digest`() throws {
        let contract = try LegacyFixture().transactions[0].originalTransactionID
        try expect("merge", labels: "DID_RENEW uuid Production com.example.app - \(contract)") { _ in }
        let scene = try ReceiptScene(LegacyFixture().notification(.didRenew), source: Self.source)
        #expect(scene.facts?.receipts.count == 3 && scene.facts?.legacyRenewals.count == 1)
    }

    @Test func `a notification without a verifiable receipt is unhandled, and its renewal is merged`() throws {
        let change: (JSONValue?) -> SignedScene.Change = { receipt in
            { body in
                body["auto_renew_status_change_date_ms"] = .string("\(SignedScene.now.millisecondsSince1970)")
                body.change("unified_receipt") { $0["latest_receipt"] = receipt }
            }
        }
        try expect("merge receipt:missing", change(nil))
        try expect("merge receipt:receipt_not_base64", change("?"))
        let forged = try LegacyFixture().signed().replacing("A", with: "B", maxReplacements: 1)
        let scene = try ReceiptScene(LegacyFixture().notification(.didRenew, change(.string(forged))), source: Self.source)
        #expect(scene.outcome.hasPrefix("merge receipt:") && scene.facts?.receipts.isEmpty == true)
        #expect(scene.facts?.legacyRenewals.count == 1)
    }

    @Test func `a body without app and receipt is rejected with its reason`() throws {
        let scene = try ReceiptScene(
            LegacyFixture().notification(.didChangeRenewalStatus) { body in
                body["bid"] = nil
                body["auto_renew_status_change_date_ms"] = .string("\(SignedScene.now.millisecondsSince1970)")
                body.change("unified_receipt") { $0["latest_receipt"] = "?" }
            },
            source: Self.source
        )
        // A body with a type is kept as long as any other.
        #expect(scene.outcome == "rejected bundle_missing" && scene.labels == "DID_CHANGE_RENEWAL_STATUS - Production - - -")
    }

    @Test func `a body beside a genuine receipt of another app is not trusted`() throws {
        let other = try LegacyFixture(SimulatedApp(bundleID: SignedScene.app.bundleID, appAppleID: 43)).signed()
        let scene = try ReceiptScene(
            LegacyFixture().notification(.didChangeRenewalStatus) { body in
                body["bid"] = nil
                body["auto_renew_status_change_date_ms"] = .string("\(SignedScene.now.millisecondsSince1970)")
                body.change("unified_receipt") { $0["latest_receipt"] = .string(other) }
            },
            source: Self.source
        )
        #expect(scene.outcome == "merge receipt:wrong_app_apple_id")
        #expect(scene.facts?.legacyRenewals.isEmpty == true && scene.facts?.effects.isEmpty == true)
    }

    @Test func `Apple is asked about an iOS 6 style receipt, when there is a secret`() throws {
        let receipt = Base64.encode(Array(#"{ "signature" = "YQ=="; "purchase-info" = "eyB9"; }"#.utf8))
        let body = try LegacyFixture().notification(.renewal) { $0.change("unified_receipt") { $0["latest_receipt"] = .string(receipt) } }
        for (legacy, count) in [(LegacySettings.local, 0), (ReceiptScene.asking, 1)] {
            let scene = try ReceiptScene(body, source: Self.source, legacy: legacy)
            #expect(scene.outcome == "merge receipt:transaction_receipt" && scene.facts?.calls.count == count)
        }
    }

    @Test func `a genuine receipt of the configured bundle with another number is unhandled`() throws {
        let other = try LegacyFixture(SimulatedApp(bundleID: SignedScene.app.bundleID, appAppleID: 43)).signed()
        let scene = try ReceiptScene(
            LegacyFixture().notification(.didRenew) { $0.change("unified_receipt") { $0["latest_receipt"] = .string(other) } },
            source: Self.source,
            legacy: ReceiptScene.asking
        )
        #expect(scene.outcome == "merge receipt:wrong_app_apple_id" && scene.facts?.calls.isEmpty == true)
    }

    @Test func `a receipt from the future is retried, and merged when its date has passed`() throws {
        var fixture = try LegacyFixture()
        fixture.madeAt = SignedScene.now.advanced(by: .seconds(600))
        let body = try fixture.notification(.didRenew)
        let scene = try ReceiptScene(body, source: Self.source)
        #expect(scene.outcome == "retry signed_in_the_future")
        #expect(scene.labels == "DID_RENEW uuid Production com.example.app - -")
        #expect(try ReceiptScene(body, source: Self.source, claimedAt: fixture.madeAt).outcome == "merge")
    }

    @Test func `a receipt with a character that PostgreSQL cannot store is unhandled`() throws {
        let receipt = try LegacyFixture().signed { $0.purchases[1].productID = "a\u{0}" }
        try expect("unhandled nul_in_payload") { $0.change("unified_receipt") { $0["latest_receipt"] = .string(receipt) } }
    }

    @Test func `a purchase without a required member does not affect the others`() throws {
        let receipt = try LegacyFixture().signed { $0.purchases[1].productID = nil }
        try expect("merge incomplete_transaction:product_id") { $0.change("unified_receipt") { $0["latest_receipt"] = .string(receipt) } }
    }
}
