import AppStore
import AppStoreVerification
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// Notifications without a purchase: `summary`, `externalPurchaseToken` and `appData`. They have an effect at most.
struct ContentTests {
    private static func notification(_ kind: NotificationKind, app: SimulatedApp = SignedScene.app) throws -> SimulatedNotification {
        try SignedScene.trigger(kind, app: app).notification()
    }

    @Test(
        arguments: [
            NotificationKind(.renewalExtension, .summary), NotificationKind(.externalPurchaseToken, .created),
            NotificationKind(.rescindConsent), NotificationKind(.test),
        ],
        [SignedScene.app, SignedScene.sandboxApp]
    )
    func `a notification without a purchase is handled, in its environment, and has an effect at most`(
        kind: NotificationKind,
        app: SimulatedApp
    ) throws {
        let facts = try SignedScene.facts(of: Self.notification(kind, app: app))
        #expect(facts.environment == app.environment)
        #expect(facts.unhandledReason == nil)
        #expect(facts.transaction == nil && facts.subscription == nil && facts.refundStatement == nil)
        #expect(facts.effects.count == (kind.type == .test ? 0 : 1))
        #expect(facts.effects.allSatisfy { $0.originalTransactionID == nil && $0.bundleID == app.bundleID })
    }

    @Test(arguments: [("SANDBOX_1", AppStoreEnvironment.sandbox), ("SANDBOX", .sandbox), ("b2158121-SANDBOX", .production)])
    func `the prefix of an external purchase token's id marks the sandbox`(id: String, environment: AppStoreEnvironment) throws {
        var notification = try Self.notification(NotificationKind(.externalPurchaseToken, .unreported))
        guard case .externalPurchaseToken(var token) = notification.content else { throw MissingPart() }
        token.externalPurchaseID = id
        notification.content = .externalPurchaseToken(token)
        #expect(try SignedScene.facts(of: notification).environment == environment)
    }

    @Test func `the enclosed app transaction is verified with its notification`() throws {
        let verified = try SignedScene.verify(SignedScene.signer().sign(Self.notification(NotificationKind(.rescindConsent))).jws)
        #expect(verified.appTransaction?.value.bundleId == SignedScene.app.bundleID)
    }

    @Test(
        arguments: [
            ("bundleId", "com.example.other", .bundleDisagreement), ("receiptType", "Sandbox", .environmentDisagreement),
            ("appAppleId", 43, .wrongAppAppleID),
        ] as [(String, JSONValue, VerificationReason)]
    )
    func `an invalid app transaction is refused with its reason`(member: String, value: JSONValue, reason: VerificationReason) throws {
        guard case .appData(let appTransaction) = try Self.notification(NotificationKind(.rescindConsent)).content else {
            throw MissingPart()
        }
        var payload = appTransaction.payload(of: SignedScene.app)
        payload[member] = value
        let nested = try SignedScene.signer().sign(payload)
        #expect(try rejection(ofNested: nested).reason == reason)
    }

    @Test func `another kind of payload, or one without a valid signature, is refused in its place`() throws {
        let renewal = try #require(SignedScene.trigger(NotificationKind(.didRenew)).notification().transaction)
        let transaction = try SignedScene.signer().sign(renewal, of: SignedScene.app, signedDate: SignedScene.now)
        #expect(try rejection(ofNested: transaction).reason == .wrongKind)
        #expect(try rejection(ofNested: Array("e30.e30.c2ln".utf8)).reason == .algorithmMissing)
    }

    /// The rejection of a notification that is valid except for its app transaction.
    private func rejection(ofNested nested: [UInt8]) throws -> Rejection {
        let jws = try SignedScene.sign(Self.notification(NotificationKind(.rescindConsent))) { outer in
            guard case .object(var appData)? = outer["appData"] else { return }
            appData["signedAppTransactionInfo"] = .string(String(decoding: nested, as: UTF8.self))
            outer["appData"] = .object(appData)
        }
        let rejection = try #require(throws: Rejection.self) { try SignedScene.verify(jws) }
        #expect(rejection.location == "appData.signedAppTransactionInfo")
        #expect(rejection.notification?.notificationType == .rescindConsent)
        return rejection
    }
}

private struct MissingPart: Error {}
