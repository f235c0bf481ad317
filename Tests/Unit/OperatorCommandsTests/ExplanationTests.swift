import AppStore
import Interpretation
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

@testable import Commands

/// How `explain` reads bodies, without a database.
struct ExplanationTests {
    private static func document(
        _ body: [UInt8],
        source: EventSource,
        _ database: JSONObject = [:],
        apps: [String] = [SignedScene.app.bundleID]
    ) throws -> JSONObject {
        let reader = EventReader(
            verifier: try SignedScene.verifier(),
            receipts: try SignedScene.receiptVerifier(),
            legacy: LegacySettings(mode: .apple, appsWithSecret: [SignedScene.app.bundleID])
        )
        let event = InboxEvent(id: 1, source: source, body: body, receivedAt: SignedScene.now, readAt: SignedScene.now)
        var database = database
        database["event_id"] = 1
        database["source"] = .string(source.rawValue)
        database["bytes"] = .integer(body.count)
        let hints = ExplanationHints(apps: apps, readsBodies: true)
        return Explanation(database, ExplainedBody(event, by: reader), hints: hints).document
    }

    private static func object(_ document: JSONObject, _ name: String) -> JSONObject {
        if case .object(let object)? = document[name] { object } else { [:] }
    }

    @Test func `a notification V1 is explained with its meaning, its receipt and the checks of the receipt`() throws {
        let fixture = try LegacyFixture()
        let body = JSONSerializer.serialize(try fixture.notification(.didChangeRenewalStatus))
        let document = try Self.document(body, source: .notificationV1)
        #expect(document.word("meaning")?.hasPrefix("DID_CHANGE_RENEWAL_STATUS: renewal was turned on or off") == true)
        #expect(Self.object(document, "if_run_now").word("result") == "merge")
        #expect(document.rows("payloads").map { $0.word("location") } == ["body", "receipt"])
        #expect(document.rows("payloads").last?.word("is_genuine") == "true")
        #expect(document.rows("verification").map { $0.word("location") } == ["receipt"])
        #expect(document.rows("verification")[0]["not_reached"] == [] && document.rows("verification")[0]["failed"] == .null)
        #expect(document.rows("effects").contains { $0.word("kind") == "will_renew" && $0.word("is_recorded") == "false" })
        #expect(document.text.contains("characters of a receipt") && document.text.contains(fixture.transactions[1].transactionID))
    }

    @Test func `a refused receipt is explained with the check that failed`() throws {
        let body = JSONSerializer.serialize(
            try LegacyFixture().notification(.didRenew) { $0.change("unified_receipt") { $0["latest_receipt"] = "AAAA" } }
        )
        let document = try Self.document(body, source: .notificationV1)
        let failed = Self.object(document.rows("verification")[0], "failed")
        #expect((failed.word("step"), failed.word("reason")) == ("form", "not_a_receipt"))
        #expect(Self.object(document, "if_run_now").word("reason") == "receipt:not_a_receipt")
        #expect(document.rows("payloads").last?.word("is_genuine") == "false")
    }

    @Test func `a posted receipt is explained with the request, and with the checks against it`() throws {
        let fixture = try LegacyFixture()
        let post = try ClientReceipt(
            receiptData: fixture.signed(),
            user: "anna",
            transactionID: fixture.transactions[2].transactionID,
            environment: .production,
            bundleIDs: ["com.example.other"]
        )
        let document = try Self.document(post.body, source: .clientReceipt)
        let request = Self.object(document, "request")
        #expect((request.word("user_id"), request.word("transaction_id")) == ("anna", fixture.transactions[2].transactionID))
        #expect(document.rows("verification").map { $0.word("location") } == ["receipt", "request"])
        #expect(Self.object(document.rows("verification")[1], "failed").word("reason") == "wrong_bundle")
        #expect(document["hints"] == nil, "the app is configured: the key is for another one")
    }

    @Test func `an event of an app that is not configured is explained with the apps that are, and what to do`() throws {
        let other = SimulatedApp(bundleID: "com.example.other", appAppleID: 43, environment: .production)
        let jws = try SignedScene.signer().sign(SignedScene.trigger(NotificationKind(.didRenew), app: other).notification()).jws
        let body = JSONSerializer.serialize(["signedPayload": .string(String(decoding: jws, as: UTF8.self))] as JSONObject)
        let text = try Self.document(body, source: .notificationV2, ["result": "rejected", "reason": "wrong_bundle"]).text
        #expect(text.contains("the app com.example.other is not configured; configured are com.example.app"))
        #expect(text.contains("APPSTORE_INBOX_APPS") && text.contains("SELECT appstore.requeue_event(1)"))
    }

    @Test func `without the right to read bodies, the rest is shown, and how to see the body`() throws {
        let database: JSONObject = [
            "event_id": 1, "source": "notification_v2", "bytes": 9, "result": "rejected", "reason": "wrong_bundle",
            "outcomes": [["notification_type": "REFUND", "bundle_id": "com.example.other"]],
        ]
        let document = Explanation(database, nil, hints: ExplanationHints(apps: nil, readsBodies: false)).document
        #expect(document.word("meaning") == "REFUND: paid back, as the transaction says")
        #expect(document["payloads"] == nil && document["verification"] == nil)
        #expect(document.text.contains("only appstore_worker may read") && document.text.contains("com.example.other is not configured"))
    }

    @Test(arguments: ["notification_v1", "client_receipt", "verify_receipt", "carrier_pigeon"])
    func `a malformed body of any source is explained without an error`(source: String) throws {
        for body in ["", "{", "[]", "{}", #"{"notification_type":7}"#, #"{"receipt":[]}"#] {
            let document = try Self.document(Array(body.utf8), source: EventSource(rawValue: source))
            #expect(document.word("source") == source && document["if_run_now"] != nil && !document.text.isEmpty)
        }
    }
}
