import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// An answer of the App Store Server API gives the facts of a notification with the same content, without its UUID.
struct AnswerElementTests {
    private let purchase: SimulatedNotification
    private let transaction: JSONObject
    private let renewalInfo: JSONObject
    private let contract: String

    init() throws {
        purchase = try SignedScene.trigger(NotificationKind(.subscribed, .initialBuy)).notification()
        let state = try #require(purchase.state)
        let (charge, renewal) = (try #require(state.transaction), try #require(state.renewalInfo))
        transaction = charge.value.payload(of: purchase.app, signedDate: charge.signedDate)
        renewalInfo = renewal.value.payload(of: purchase.app, signedDate: renewal.signedDate)
        contract = charge.value.originalTransactionID
    }

    private static func signed(_ payload: JSONObject, _ change: SignedScene.Change) throws -> JSONValue {
        var payload = payload
        change(&payload)
        return .string(String(decoding: try SignedScene.signer().sign(payload), as: UTF8.self))
    }

    private func entry(
        status: JSONValue? = 1,
        transaction change: SignedScene.Change = { _ in },
        renewalInfo renewalChange: SignedScene.Change? = { _ in }
    ) throws -> JSONObject {
        var entry: JSONObject = ["originalTransactionId": .string(contract), "signedTransactionInfo": try Self.signed(transaction, change)]
        entry["status"] = status
        entry["signedRenewalInfo"] = try renewalChange.map { try Self.signed(renewalInfo, $0) }
        return entry
    }

    private func read(
        _ answer: JSONObject,
        _ source: EventSource = .subscriptionStatus,
        environment: AppStoreEnvironment = .production,
        bundleID: String = SignedScene.app.bundleID,
        diagnostics: VerificationDiagnostics? = nil
    ) throws -> EventReading {
        let asked: JSONObject = [
            "endpoint": "subscription_statuses", "environment": .string(environment.rawValue), "bundleId": .string(bundleID), "path": ["1"],
        ]
        return try read(AnswerElement.body(asked: asked, answer: answer), source, diagnostics: diagnostics)
    }

    private func read(_ body: [UInt8], _ source: EventSource, diagnostics: VerificationDiagnostics? = nil) throws -> EventReading {
        EventReader(verifier: try SignedScene.verifier()).read(
            InboxEvent(id: 7, source: source, body: body, receivedAt: SignedScene.now, readAt: SignedScene.now),
            diagnostics: diagnostics
        )
    }

    @Test(arguments: [EventSource.subscriptionStatus, .importedStatus])
    func `a status has the facts of the notification with the same content`(source: EventSource) throws {
        let status = try #require(purchase.status)
        let reading = try read(entry(status: .integer(status.rawValue)), source)
        let (here, there) = (try reading.result.get(), try SignedScene.facts(of: purchase))
        #expect(here.transaction?.version == there.transaction?.version && here.subscription?.version == there.subscription?.version)
        #expect(here.subscription?.status == status && here.subscription?.key.id == contract)
        #expect(here.effects.map(\.key) == there.effects.map(\.key) && here.unhandledReason == nil)
        #expect(here.notificationUUID == nil && here.eventID == 7 && reading.labels.originalTransactionID == contract)
    }

    @Test(arguments: [EventSource.transactionInfo, .importedTransaction])
    func `a transaction has its effects, and no status`(source: EventSource) throws {
        let date = JSONValue.integer(SignedScene.now.millisecondsSince1970)
        let facts = try read(entry { $0["revocationDate"] = date }, source).result.get()
        #expect(facts.effects.map(\.key.kind) == [.granted, .refunded] && facts.subscription == nil && facts.transaction != nil)
    }

    @Test func `an app transaction of the app is verified, and has no facts`() throws {
        let payload: JSONObject = [
            "receiptType": "Production", "appAppleId": 42, "bundleId": .string(SignedScene.app.bundleID), "appTransactionId": "704",
            "applicationVersion": "1.0", "originalPurchaseDate": 1, "originalApplicationVersion": "1",
            "receiptCreationDate": .integer(SignedScene.now.millisecondsSince1970), "deviceVerification": "eA==",
        ]
        let reading = try read(["signedAppTransactionInfo": Self.signed(payload) { _ in }], .appTransaction)
        let facts = try reading.result.get()
        #expect(facts.transaction == nil && facts.effects.isEmpty && facts.unhandledReason == nil)
        #expect(reading.labels.bundleID == SignedScene.app.bundleID && reading.labels.environment == "Production")
        let other = try read(["signedAppTransactionInfo": Self.signed(payload) { $0["receiptType"] = "Sandbox" }], .appTransaction)
        #expect(other.reason == "wrong_environment")
    }

    @Test func `what lacks a renewal info or a status brings its transaction alone`() throws {
        let bare = try read(entry(renewalInfo: nil)).result.get()
        #expect(bare.unhandledReason == "incomplete_status:signedRenewalInfo" && bare.subscription == nil && bare.transaction != nil)
        let silent = try read(entry(status: nil)).result.get()
        #expect(silent.unhandledReason == "incomplete_status:status" && silent.subscription == nil && silent.transaction != nil)
        let incomplete = try read(entry(transaction: { $0["productId"] = nil })).result.get()
        #expect(incomplete.unhandledReason == "incomplete_transaction:productId" && incomplete.subscription == nil)
    }

    @Test func `a status of tomorrow and unknown members are kept`() throws {
        var answer = try entry(status: 9, transaction: { $0["tomorrow"] = true })
        answer["news"] = ["a": 1]
        #expect(try read(answer).result.get().subscription?.status == Status(rawValue: 9))
    }

    @Test func `an altered JWS is refused`() throws {
        for member in ["signedTransactionInfo", "signedRenewalInfo"] {
            var answer = try entry()
            guard case .string(let jws)? = answer[member] else { return }
            var parts = jws.split(separator: ".").map(String.init)
            parts[1] = String(decoding: Base64URL.encode(JSONSerializer.serialize(transaction)), as: UTF8.self).replacing("A", with: "B")
            answer[member] = .string(parts.joined(separator: "."))
            #expect(try ["signature_invalid", "malformed_jws", "payload_not_json", "invalid_signature"].contains(read(answer).reason))
        }
    }

    @Test func `another app, environment or contract is refused`() throws {
        #expect(try read(entry(), environment: .sandbox).reason == "wrong_environment")
        #expect(try read(entry(), bundleID: "com.example.other").reason == "wrong_bundle")
        #expect(try read(entry { $0["bundleId"] = "com.example.other" }).reason == "wrong_bundle")
        #expect(try read(entry { $0["environment"] = nil }).reason == "environment_missing")
        #expect(try read(entry(renewalInfo: { $0["environment"] = "Sandbox" })).reason == "wrong_environment")
        #expect(try read(entry(renewalInfo: { $0["originalTransactionId"] = "1" })).reason == "original_transaction_id_disagreement")
        var answer = try entry()
        answer["originalTransactionId"] = "1"
        #expect(try read(answer).reason == "original_transaction_id_disagreement")
    }

    @Test func `what cannot be read of an answer leaves the rest`() throws {
        let facts = try read(entry { $0["offerIdentifier"] = "a\u{0}b" }).result.get()
        #expect(facts.transaction != nil && facts.subscription != nil && facts.unhandledReason == nil)
        let status = try read(entry(status: "1")).result.get()
        #expect(status.transaction != nil && status.unhandledReason == "unreadable_member:answer.status")
        let charge = try read(entry { $0["purchaseDate"] = "today" }).result.get()
        #expect(charge.transaction == nil && charge.subscription?.key.id == contract)
        #expect(charge.unhandledReason == "unreadable_member:transaction.purchaseDate")
        for member in ["originalTransactionId", "environment", "signedDate"] {
            let renewal = try read(entry(renewalInfo: { $0[member] = ["x"] })).result.get()
            #expect(renewal.transaction != nil && renewal.subscription == nil, "\(member)")
            #expect(renewal.unhandledReason == "unreadable_member:renewalInfo.\(member)")
        }
        for member in ["bundleId", "environment"] {
            #expect(try read(entry { $0[member] = ["x"] }).reason == "unreadable_member:transaction.\(member)")
        }
    }

    @Test(arguments: [
        ("[]", "not_a_json_object"), (#"{"answer":{}}"#, "malformed_question"),
        (#"{"asked":{"endpoint":"e","environment":1,"bundleId":"b"},"answer":{}}"#, "malformed_question"),
        (#"{"asked":{"endpoint":"e","environment":"Production","bundleId":"b"},"answer":null}"#, "malformed_answer"),
        (#"{"asked":{"endpoint":"e","environment":"Production","bundleId":"b"},"answer":{}}"#, "no_signed_data"),
        (
            #"{"asked":{"endpoint":"e","environment":"Production","bundleId":"b"},"answer":{"signedTransactionInfo":"a","status":"1"}}"#,
            "malformed_jws_parts"
        ),
        (#"{"asked":{"endpoint":"e","environment":"Production","bundleId":"b"},"answer":{"signedTransactionInfo":1}}"#, "malformed_answer"),
    ])
    func `a malformed body is refused`(body: String, reason: String) throws {
        #expect(try read(Array(body.utf8), .subscriptionStatus).reason == reason)
    }

    @Test func `each JWS is a part of the diagnostics, and so is what was asked`() throws {
        let diagnostics = VerificationDiagnostics()
        _ = try read(entry(), diagnostics: diagnostics)
        #expect(
            diagnostics.parts.map(\.location) == ["answer.signedTransactionInfo", "asked", "answer.signedRenewalInfo", "asked"]
                && diagnostics.parts.allSatisfy { $0.notReached.isEmpty && $0.checks.allSatisfy { $0.failure == nil } }
        )
    }
}

extension EventReading {
    fileprivate var reason: String? {
        if case .failure(let refusal) = result { refusal.reason } else { nil }
    }
}
