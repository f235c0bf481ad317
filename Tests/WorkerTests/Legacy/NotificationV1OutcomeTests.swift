import AppStore
import Handlers
import Ledger
import SignedTesting
import StoreSimulator
import Testing

/// What becomes of a notification V1, row by row.
struct NotificationV1OutcomeTests {
    private static let source = "notification_v1"

    private func expect(_ outcome: String, _ body: String) throws {
        #expect(try Desk(Array(body.utf8), source: Self.source).outcome == outcome, "\(body)")
    }

    private func expect(_ outcome: String, labels: String? = nil, _ change: SignedScene.Change) throws {
        let desk = try Desk(Shelf().notification(.didRenew, change), source: Self.source)
        #expect(desk.outcome == outcome)
        if let labels { #expect(desk.labels == labels) }
    }

    @Test func `a body that is none is rejected`() throws {
        try expect("rejected not_json", "")
        try expect("rejected not_json", "[]")
        try expect("rejected not_json", #"{"notification_type":"REFUND","bid":"a","bid":"b"}"#)
        try expect(
            "rejected not_json",
            #"{"notification_type":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}"
        )
        try expect("rejected malformed_payload", #"{"notification_type":"REFUND","auto_renew_status":"maybe"}"#)
        try expect("rejected malformed_payload", #"{"notification_type":["REFUND"]}"#)
        try expect("rejected nul_in_payload", #"{"notification_type":"REFUND","bvrs":"1\u0000"}"#)
        try expect("rejected environment_missing", #"{"notification_type":"REFUND","bid":"com.example.app"}"#)
        try expect("rejected bundle_missing", #"{"notification_type":"REFUND","environment":"PROD"}"#)
    }

    @Test func `one about another app or environment is rejected, and says which`() throws {
        try expect("rejected wrong_environment", labels: "DID_RENEW - Xcode com.example.app - -") { $0["environment"] = "Xcode" }
        try expect("rejected environment_mismatch") { $0["environment"] = "Sandbox" }
        try expect("rejected wrong_bundle", labels: "DID_RENEW - Production com.example.other - -") { $0["bid"] = "com.example.other" }
        let foreign = try Shelf(SimulatedApp(bundleID: "com.example.other", appAppleID: 7)).signed()
        let theirs: SignedScene.Change = { $0.change("unified_receipt") { $0["latest_receipt"] = .string(foreign) } }
        try expect("rejected bundle_mismatch", theirs)
    }

    @Test func `one in order is merged, labelled by its contract and its digest`() throws {
        let contract = try Shelf().transactions[0].originalTransactionID
        try expect("merge", labels: "DID_RENEW uuid Production com.example.app - \(contract)") { _ in }
        let desk = try Desk(Shelf().notification(.didRenew), source: Self.source)
        #expect(desk.facts?.receipts.count == 3 && desk.facts?.legacyRenewals.count == 1)
    }

    @Test func `one without a receipt that can be verified is unhandled, and its renewal is merged`() throws {
        let change: (JSONValue?) -> SignedScene.Change = { receipt in
            { body in
                body["auto_renew_status_change_date_ms"] = .string("\(SignedScene.now.millisecondsSince1970)")
                body.change("unified_receipt") { $0["latest_receipt"] = receipt }
            }
        }
        try expect("merge receipt:missing", change(nil))
        try expect("merge receipt:receipt_not_base64", change("?"))
        let forged = try Shelf().signed().replacing("A", with: "B", maxReplacements: 1)
        let desk = try Desk(Shelf().notification(.didRenew, change(.string(forged))), source: Self.source)
        #expect(desk.outcome.hasPrefix("merge receipt:") && desk.facts?.receipts.isEmpty == true)
        #expect(desk.facts?.legacyRenewals.count == 1)
    }

    @Test func `without app and receipt a body says nothing, and is kept with its reason`() throws {
        let desk = try Desk(
            Shelf().notification(.didChangeRenewalStatus) { body in
                body["bid"] = nil
                body["auto_renew_status_change_date_ms"] = .string("\(SignedScene.now.millisecondsSince1970)")
                body.change("unified_receipt") { $0["latest_receipt"] = "?" }
            },
            source: Self.source
        )
        // What has a type is not junk: it stays as long as any body.
        #expect(desk.outcome == "rejected bundle_missing" && desk.labels == "DID_CHANGE_RENEWAL_STATUS - Production - - -")
    }

    @Test func `of a genuine receipt that is not ours nothing is believed beside it`() throws {
        let other = try Shelf(SimulatedApp(bundleID: SignedScene.app.bundleID, appAppleID: 43)).signed()
        let desk = try Desk(
            Shelf().notification(.didChangeRenewalStatus) { body in
                body["bid"] = nil
                body["auto_renew_status_change_date_ms"] = .string("\(SignedScene.now.millisecondsSince1970)")
                body.change("unified_receipt") { $0["latest_receipt"] = .string(other) }
            },
            source: Self.source
        )
        #expect(desk.outcome == "merge receipt:wrong_app_apple_id")
        #expect(desk.facts?.legacyRenewals.isEmpty == true && desk.facts?.effects.isEmpty == true)
    }

    @Test func `an iOS 6 style receipt is asked about, when there is a secret`() throws {
        let receipt = Base64.encode(Array(#"{ "signature" = "YQ=="; "purchase-info" = "eyB9"; }"#.utf8))
        let body = try Shelf().notification(.renewal) { $0.change("unified_receipt") { $0["latest_receipt"] = .string(receipt) } }
        for (legacy, count) in [(LegacySettings.local, 0), (Desk.asking, 1)] {
            let desk = try Desk(body, source: Self.source, legacy: legacy)
            #expect(desk.outcome == "merge receipt:transaction_receipt" && desk.facts?.calls.count == count)
        }
    }

    @Test func `a genuine receipt of the configured bundle with another number is unhandled`() throws {
        let other = try Shelf(SimulatedApp(bundleID: SignedScene.app.bundleID, appAppleID: 43)).signed()
        let desk = try Desk(
            Shelf().notification(.didRenew) { $0.change("unified_receipt") { $0["latest_receipt"] = .string(other) } },
            source: Self.source,
            legacy: Desk.asking
        )
        #expect(desk.outcome == "merge receipt:wrong_app_apple_id" && desk.facts?.calls.isEmpty == true)
    }

    @Test func `a receipt from the future waits, and is taken when its time has come`() throws {
        var shelf = try Shelf()
        shelf.madeAt = SignedScene.now.advanced(by: .seconds(600))
        let body = try shelf.notification(.didRenew)
        let desk = try Desk(body, source: Self.source)
        #expect(desk.outcome == "retry signed_in_the_future")
        #expect(desk.labels == "DID_RENEW uuid Production com.example.app - -")
        #expect(try Desk(body, source: Self.source, claimedAt: shelf.madeAt).outcome == "merge")
    }

    @Test func `a receipt with a character that the books cannot hold is rejected`() throws {
        let receipt = try Shelf().signed { $0.purchases[1].productID = "a\u{0}" }
        try expect("rejected nul_in_payload") { $0.change("unified_receipt") { $0["latest_receipt"] = .string(receipt) } }
    }

    @Test func `a purchase that lacks a member leaves the others alone`() throws {
        let receipt = try Shelf().signed { $0.purchases[1].productID = nil }
        try expect("merge incomplete_transaction:product_id") { $0.change("unified_receipt") { $0["latest_receipt"] = .string(receipt) } }
    }
}
