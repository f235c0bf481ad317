import AppStore
import AppStoreVerification
import Foundation
import StoreSimulator
import Testing

struct NotificationTriggerTests {
    static let kinds = NotificationMatrix.pairs.map { NotificationKind($0.type, $0.subtype) }

    /// With those of seats.
    static let scenarios = Result { try NotificationTrigger.scenarios.map { try NotificationKind($0.kind) } }

    @Test func `the known kinds are the documented ones`() throws {
        let documented = Set(Self.kinds).union(AdditionalStepTests.kinds)
        #expect(NotificationTrigger.knownKinds == documented.map(\.description).sorted())
    }

    @Test func `a variant says what it is about, and no other scenario does`() throws {
        for (kind, words) in NotificationTrigger.scenarios {
            #expect((words == nil) == (try NotificationKind(kind).variant == nil), "\(kind)")
        }
        let about = [
            "seats", "developer-seats", "same-line-item", "undone", "addition", "bare", "assigned", "organization", "commitment",
            "cancelled-commitment", "unknown-ownership", "unknown-product-type", "unknown-type", "retention",
        ]
        #expect(Set(try Self.scenarios.get().compactMap(\.variant)) == Set(about))
    }

    @Test(arguments: try scenarios.get().filter { $0.variant != "bare" }, [AppStoreEnvironment.production, .sandbox])
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

    @Test func `an unknown variant is refused with the known ones, also if unknown kinds are allowed`() throws {
        var trigger = trigger(try NotificationKind("REVOKE:nothing"))
        trigger.allowsUnknownKinds = true
        let error = #expect(throws: SimulationError.self) { try trigger.notification() }
        #expect(error?.description == "REVOKE:nothing is no known variant; known are REVOKE:assigned, REVOKE:unknown-type")
    }

    @Test func `a variant is about a contract of its own`() throws {
        let contract = ExistingContractTests.contract()
        let error = #expect(throws: SimulationError.self) { try ExistingContractTests.trigger("DID_RENEW:seats", contract).notification() }
        #expect(error?.description == "DID_RENEW:seats begins a contract of its own: it takes none further")
    }

    @Test func `the scenarios of seats, commitments and unknown values are what they are named`() throws {
        func charge(_ kind: String) throws -> SimulatedTransaction {
            try #require(try trigger(NotificationKind(kind)).notification().transaction)
        }
        #expect(try charge("SUBSCRIBED/INITIAL_BUY:assigned").ownership == .assigned)
        #expect(try charge("REVOKE:assigned").revocation?.type == .assignmentRevoke)
        #expect(try charge("REFUND:addition").hasSeatAddition && charge("REFUND:addition").revocation?.isRefund == true)
        #expect(try trigger(NotificationKind("REFUND:addition")).notification().status == .active)
        #expect(try charge("DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED:commitment").commitment?.number == 3)
        let cancelled = try trigger(NotificationKind("DID_RENEW:cancelled-commitment")).notification()
        #expect(cancelled.transaction?.commitment?.number == 4 && cancelled.renewalInfo?.commitment?.renews == false)
        #expect(cancelled.renewalInfo?.autoRenews == true)
        #expect(try charge("EXPIRED/VOLUNTARY:commitment").commitment?.number == 12)
        let bundle = try charge("SUBSCRIBED/INITIAL_BUY:unknown-product-type")
        #expect(
            bundle.product.type.rawValue == "Subscription Bundle" && bundle.expiresDate != nil && bundle.product.subscriptionGroupID != nil
        )
        #expect(try charge("SUBSCRIBED/INITIAL_BUY:unknown-ownership").ownership.rawValue == "LENT")
        #expect(try charge("REVOKE:unknown-type").revocation?.type.rawValue == "LOAN_REVOKE")
        #expect(try trigger(NotificationKind("OFFER_REDEEMED:retention")).notification().renewalInfo?.offer?.type.rawValue == 5)
    }

    @Test(arguments: ["", "/", "TEST:", "TEST:X", ":x", "TEST:a:b", "TEST/", "/X", "A/B/C", "test", "TEST X", "ÄRGER"])
    func `a malformed kind is refused`(text: String) {
        #expect(throws: SimulationError.self) { try NotificationKind(text) }
    }

    private func trigger(_ kind: NotificationKind, app: SimulatedApp = .test) -> NotificationTrigger {
        NotificationTrigger(kind, app: app, now: .testNow, seed: 1)
    }
}

extension NotificationKind: CustomTestStringConvertible {
    package var testDescription: String { description }
}
