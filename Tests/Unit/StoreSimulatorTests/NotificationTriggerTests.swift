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
        let verified = try #require(try Genuine.verifier.verifyNotification(signed.jws, receivedAt: .testNow).accepted)
        let payload = verified.notification.value
        #expect(payload.notificationType == kind.type && payload.subtype == kind.subtype)
        #expect(verified.environment == environment)
        #expect(verified.notification.signedDate == .testNow)
        #expect(verified.transaction?.value.transactionId == notification.transactionID)

        let strangers = Verifier(policy: VerificationPolicy(apps: nil, environments: nil))
        #expect(strangers.verifyNotification(signed.jws, receivedAt: .testNow).reason == .untrustedRoot)
    }

    @Test(
        arguments: [
            ("SUBSCRIBED/INITIAL_BUY", 1), ("DID_RENEW", 1), ("DID_RENEW/BILLING_RECOVERY", 1), ("DID_FAIL_TO_RENEW/GRACE_PERIOD", 4),
            ("DID_FAIL_TO_RENEW", 3), ("GRACE_PERIOD_EXPIRED", 3), ("EXPIRED/VOLUNTARY", 2), ("EXPIRED/BILLING_RETRY", 2), ("REFUND", 5),
            ("REFUND_REVERSED", 1), ("REVOKE", 5), ("RENEWAL_EXTENDED", 1),
        ] as [(String, Int32)]
    )
    func `the status agrees with the event`(kind: String, status: Int32) throws {
        #expect(try trigger(NotificationKind(kind)).notification().status?.rawValue == status)
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

    @Test func `an event of a first period needs one identifier`() throws {
        for kind in [NotificationKind(.subscribed, .initialBuy), NotificationKind(.refund), NotificationKind(.expired, .voluntary)] {
            var trigger = trigger(kind)
            trigger.originalTransactionID = "2000000000000001"
            let transaction = try #require(try trigger.notification().transaction)
            #expect(transaction.transactionID == "2000000000000001" && transaction.originalTransactionID == "2000000000000001")
        }
    }

    @Test func `an event of a later period has a renewal's transaction`() throws {
        for kind in Self.kinds {
            var trigger = trigger(kind)
            trigger.originalTransactionID = "2000000000000001"
            trigger.transactionID = "2000000000000002"
            do {
                let notification = try trigger.notification()
                let transaction = try #require(notification.transaction)
                #expect(notification.signedDate == .testNow)
                #expect(transaction.purchaseDate > transaction.originalPurchaseDate, "\(kind)")
                #expect(transaction.transactionID == "2000000000000002" && transaction.originalTransactionID == "2000000000000001")
            } catch let error as SimulationError {
                #expect(error.code == .invalidOption, "\(kind): \(error)")
            }
        }
    }

    @Test(arguments: ["SUBSCRIBED/INITIAL_BUY", "ONE_TIME_CHARGE"])
    func `a first purchase cannot have two identifiers`(kind: String) throws {
        var trigger = trigger(try NotificationKind(kind))
        trigger.originalTransactionID = "1"
        trigger.transactionID = "2"
        let error = #expect(throws: SimulationError.self) { try trigger.notification() }
        #expect(error?.code == .invalidOption)
    }

    @Test func `a refund can be about a consumable`() throws {
        var trigger = trigger(NotificationKind(.refund))
        trigger.productType = .consumable
        let notification = try trigger.notification()
        #expect(notification.transaction?.product.type == .consumable)
        #expect(notification.transaction?.revocation?.percentage == 100_000)
        #expect(notification.renewalInfo == nil && notification.status == nil)
    }

    @Test func `options about a transaction are refused for a notification without one`() throws {
        var trigger = trigger(NotificationKind(.test))
        trigger.transactionID = "1"
        let error = #expect(throws: SimulationError.self) { try trigger.notification() }
        #expect(error?.description == "TEST is about no transaction")
    }

    @Test func `an unknown kind is refused with the known ones, unless it is allowed`() throws {
        var trigger = trigger(try NotificationKind("TOMORROW/PERHAPS"))
        let error = #expect(throws: SimulationError.self) { try trigger.notification() }
        #expect(error?.code == .unknownNotification)
        #expect(error?.description.contains("SUBSCRIBED/INITIAL_BUY") == true)
        trigger.allowsUnknownKinds = true
        let notification = try trigger.notification()
        #expect(notification.type.rawValue == "TOMORROW" && notification.subtype?.rawValue == "PERHAPS")
        #expect(try Genuine.verifier.verifyNotification(try Genuine.signer.sign(notification).jws, receivedAt: .testNow).accepted != nil)
    }

    @Test func `the error about a missing subtype names the subtypes`() throws {
        let error = #expect(throws: SimulationError.self) { try trigger(NotificationKind(.subscribed)).notification() }
        #expect(error?.description.contains("SUBSCRIBED/INITIAL_BUY, SUBSCRIBED/RESUBSCRIBE") == true)
    }

    @Test(arguments: ["", "/", "TEST/", "/X", "A/B/C", "test", "TEST X", "ÄRGER"]) func `a malformed kind is refused`(text: String) {
        #expect(throws: SimulationError.self) { try NotificationKind(text) }
    }

    @Test func `the same seed gives the same notification`() throws {
        for kind in Self.kinds {
            #expect(try trigger(kind).notification() == trigger(kind).notification())
            var other = trigger(kind)
            other.seed = 2
            #expect(try trigger(kind).notification().notificationUUID != other.notification().notificationUUID)
        }
    }

    private func trigger(_ kind: NotificationKind, app: SimulatedApp = .test) -> NotificationTrigger {
        NotificationTrigger(kind, app: app, now: .testNow, seed: 1)
    }
}

extension NotificationKind: CustomTestStringConvertible {
    package var testDescription: String { description }
}
