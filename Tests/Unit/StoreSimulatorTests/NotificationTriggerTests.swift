import AppStore
import AppStoreVerification
import Foundation
import StoreSimulator
import Testing

struct NotificationTriggerTests {
    static let kinds = NotificationMatrix.pairs.map { NotificationKind($0.type, $0.subtype) }

    @Test func `the known kinds are the documented ones`() {
        #expect(NotificationTrigger.knownKinds == Self.kinds.map(\.description).sorted())
    }

    @Test(arguments: kinds, [AppStoreEnvironment.production, .sandbox])
    func `every kind is valid when the root is trusted, and only then`(kind: NotificationKind, environment: AppStoreEnvironment) throws {
        let app = environment == .production ? SimulatedApp.test : .testSandbox
        let notification = try trigger(kind, app: app).notification()
        let signed = try Genuine.signer.sign(notification)
        let verified = try #require(try Genuine.verifier.verifyNotification(signed.jws[...], receivedAt: .testNow).accepted)
        let payload = verified.notification.value
        #expect(payload.notificationType == kind.type && payload.subtype == kind.subtype)
        #expect(verified.environment == environment)
        #expect(verified.notification.signedDate == .testNow)
        #expect(verified.transaction?.value.transactionId == notification.transactionID)

        let appleOnly = Verifier(policy: VerificationPolicy(apps: nil, environments: nil))
        #expect(appleOnly.verifyNotification(signed.jws[...], receivedAt: .testNow).reason == .untrustedRoot)
    }

    @Test func `the options are in the notification`() throws {
        var trigger = trigger(NotificationKind(.didRenew))
        let token = UUID()
        trigger.productID = "com.example.gold"
        trigger.price = 12_340
        trigger.appAccountToken = token
        trigger.originalTransactionID = "2000000000000001"
        trigger.transactionID = "2000000000000002"
        let notification = try trigger.notification()
        let transaction = try #require(notification.transaction)
        #expect(transaction.product.id == "com.example.gold" && transaction.price == 12_340 && transaction.appAccountToken == token)
        #expect(transaction.transactionID == "2000000000000002" && transaction.originalTransactionID == "2000000000000001")
        #expect(notification.renewalInfo?.originalTransactionID == "2000000000000001")
        #expect(transaction.reason == .renewal && transaction.purchaseDate > transaction.originalPurchaseDate)
    }

    @Test(arguments: ["SUBSCRIBED/INITIAL_BUY", "ONE_TIME_CHARGE"])
    func `a first purchase cannot have two identifiers`(kind: String) throws {
        var trigger = trigger(try NotificationKind(kind))
        trigger.originalTransactionID = "1"
        trigger.transactionID = "2"
        let error = #expect(throws: SimulationError.self) { try trigger.notification() }
        #expect(error?.code == .invalidOption)
    }

    @Test func `options about a transaction are refused for a notification without one`() throws {
        var trigger = trigger(NotificationKind(.test))
        trigger.transactionID = "1"
        let error = #expect(throws: SimulationError.self) { try trigger.notification() }
        #expect(error?.description == "TEST is about no transaction")
    }

    @Test func `an unknown kind is refused with the known ones, unless it is allowed`() throws {
        var trigger = trigger(try NotificationKind("NEW_TYPE/NEW_SUBTYPE"))
        let error = #expect(throws: SimulationError.self) { try trigger.notification() }
        #expect(error?.code == .unknownNotification)
        #expect(error?.description.contains("SUBSCRIBED/INITIAL_BUY") == true)
        trigger.allowsUnknownKinds = true
        let notification = try trigger.notification()
        #expect(notification.type.rawValue == "NEW_TYPE" && notification.subtype?.rawValue == "NEW_SUBTYPE")
        let jws = try Genuine.signer.sign(notification).jws[...]
        #expect(try Genuine.verifier.verifyNotification(jws, receivedAt: .testNow).accepted != nil)
    }

    @Test func `the error about a missing subtype names the subtypes`() throws {
        let error = #expect(throws: SimulationError.self) { try trigger(NotificationKind(.subscribed)).notification() }
        #expect(error?.description.contains("SUBSCRIBED/INITIAL_BUY, SUBSCRIBED/RESUBSCRIBE") == true)
    }

    @Test(arguments: ["", "/", "TEST/", "/X", "A/B/C", "test", "TEST X", "ÄRGER"]) func `a malformed kind is refused`(text: String) {
        #expect(throws: SimulationError.self) { try NotificationKind(text) }
    }

    private func trigger(_ kind: NotificationKind, app: SimulatedApp = .test) -> NotificationTrigger {
        NotificationTrigger(kind, app: app, now: .testNow, seed: 1)
    }
}

extension NotificationKind: CustomTestStringConvertible {
    package var testDescription: String { description }
}
