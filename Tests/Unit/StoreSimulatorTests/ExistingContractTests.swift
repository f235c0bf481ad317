import AppStore
import AppStoreVerification
import StoreSimulator
import Testing

/// Triggers that take a contract further that an inbox knows.
struct ExistingContractTests {
    private static let group = "20998877"
    private static let bought = Timestamp.testNow.advanced(byDays: -10)

    static func contract(
        _ product: SimulatedProduct = .subscription("pro.monthly", every: .days(30), price: 7990, group: group),
        ownership: InAppOwnershipType = .purchased,
        revokedAt: Timestamp? = nil
    ) -> ExistingContract {
        var contract = ExistingContract(
            app: .test,
            product: product,
            transactionID: "2000000000000105",
            originalTransactionID: "2000000000000100",
            purchaseDate: bought,
            originalPurchaseDate: bought.advanced(byDays: -30)
        )
        contract.transaction.webOrderLineItemID = "2000000000000055"
        contract.transaction.appTransactionID = "705000000000000001"
        contract.transaction.reason = .renewal
        contract.transaction.expiresDate = product.period == nil ? nil : bought.advanced(byDays: 30)
        contract.transaction.revocation = revokedAt.map { .refund(at: $0) }
        if ownership == .familyShared { (contract.transaction.ownership, contract.transaction.price) = (ownership, nil) }
        return contract
    }

    static func trigger(_ kind: String, _ contract: ExistingContract) throws -> NotificationTrigger {
        var trigger = NotificationTrigger(try NotificationKind(kind), app: contract.app, now: .testNow, seed: 1)
        trigger.contract = contract
        return trigger
    }

    @Test(arguments: [
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_CHANGE_RENEWAL_STATUS",
        "DID_CHANGE_RENEWAL_PREF/DOWNGRADE", "DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED", "PRICE_INCREASE/PENDING",
        "PRICE_INCREASE/ACCEPTED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION/FAILURE", "MIGRATION", "METADATA_UPDATE", "PRICE_CHANGE",
        "DID_FAIL_TO_RENEW", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "EXPIRED/VOLUNTARY", "EXPIRED/BILLING_RETRY",
        "EXPIRED/PRICE_INCREASE", "EXPIRED/PRODUCT_NOT_FOR_SALE", "EXPIRED", "REFUND", "REFUND_REVERSED", "REFUND_DECLINED",
        "CONSUMPTION_REQUEST",
    ])
    func `a notification about the current charge keeps its identifiers, its product and its dates`(kind: String) throws {
        let notification = try Self.trigger(kind, Self.contract()).notification()
        let transaction = try #require(notification.transaction)
        #expect(transaction.transactionID == "2000000000000105" && transaction.originalTransactionID == "2000000000000100")
        #expect(transaction.product.id == "pro.monthly" && transaction.product.subscriptionGroupID == Self.group)
        #expect(transaction.purchaseDate == Self.bought && transaction.price == 7990 && transaction.reason == .renewal)
        #expect(transaction.appTransactionID == "705000000000000001")
        #expect(notification.renewalInfo?.originalTransactionID == "2000000000000100")
        let hasEnded = kind.hasPrefix("EXPIRED") || kind.hasPrefix("DID_FAIL") || kind == "GRACE_PERIOD_EXPIRED"
        let expiresDate = try #require(transaction.expiresDate)
        #expect(hasEnded ? expiresDate < .testNow : expiresDate >= Self.bought.advanced(byDays: 30))
        try expectSignedNow(notification)
    }

    @Test(arguments: ["DID_RENEW", "DID_RENEW/BILLING_RECOVERY", "SUBSCRIBED/RESUBSCRIBE", "OFFER_REDEEMED/RESUBSCRIBE"])
    func `a later charge has a greater number, a period of its own, and begins now`(kind: String) throws {
        let notification = try Self.trigger(kind, Self.contract()).notification()
        let transaction = try #require(notification.transaction)
        #expect(transaction.transactionID > "2000000000000105" && transaction.originalTransactionID == "2000000000000100")
        #expect(try #require(transaction.webOrderLineItemID) > "2000000000000055")
        #expect(transaction.product.id == "pro.monthly" && transaction.originalPurchaseDate == Self.bought.advanced(byDays: -30))
        #expect(abs(transaction.purchaseDate.millisecondsSince1970 - Timestamp.testNow.millisecondsSince1970) <= 1000)
        try expectSignedNow(notification)
    }

    @Test func `an upgrade is to the product of the options, in the same group`() throws {
        var trigger = try Self.trigger("DID_CHANGE_RENEWAL_PREF/UPGRADE", Self.contract())
        trigger.productID = "ultra.monthly"
        let transaction = try #require(try trigger.notification().transaction)
        #expect(transaction.product.id == "ultra.monthly" && transaction.product.subscriptionGroupID == Self.group)
        #expect(transaction.transactionID > "2000000000000105")
    }

    @Test func `what cannot happen to the contract is refused with the reason`() throws {
        let refunded = Self.contract(revokedAt: .testNow.advanced(byDays: -1))
        var off = Self.contract()
        off.autoRenews = false
        let cases = [
            ("REFUND", refunded, "REFUND is impossible: it is refunded or revoked already"),
            ("DID_RENEW", refunded, "DID_RENEW is impossible: the subscription is not active"),
            ("DID_RENEW", off, "DID_RENEW is impossible: automatic renewal is off"),
            ("REVOKE", Self.contract(), "REVOKE is impossible: the customer bought it"),
            ("DID_RENEW", Self.contract(.oneTime("coins", .consumable)), "DID_RENEW is impossible: the customer has no subscription"),
            ("SUBSCRIBED/INITIAL_BUY", Self.contract(), "SUBSCRIBED/INITIAL_BUY begins a contract: it takes none further"),
            ("TEST", Self.contract(), "TEST is about no transaction"),
        ]
        for (kind, contract, message) in cases {
            let error = #expect(throws: SimulationError.self) { try Self.trigger(kind, contract).notification() }
            #expect(error?.description == message)
        }
    }

    @Test func `a state that the contract is in already is the beginning of the next one`() throws {
        let refunded = Self.contract(revokedAt: .testNow.advanced(byDays: -1))
        #expect(try Self.trigger("REFUND_REVERSED", refunded).notification().transaction?.revocation == nil)
        var retry = Self.contract()
        retry.status = .billingRetry
        #expect(try Self.trigger("DID_RENEW/BILLING_RECOVERY", retry).notification().status == .active)
        let shared = Self.contract(ownership: .familyShared)
        #expect(try Self.trigger("REVOKE", shared).notification().transaction?.revocation?.type == .familyRevoke)
        let coins = try Self.trigger("REFUND", Self.contract(.oneTime("coins", .consumable))).notification()
        #expect(coins.transaction?.revocation != nil && coins.renewalInfo == nil)
    }

    private func expectSignedNow(_ notification: SimulatedNotification) throws {
        let signed = try Genuine.signer.sign(notification)
        let verified = try #require(try Genuine.verifier.verifyNotification(signed.jws[...], receivedAt: .testNow).accepted)
        #expect(verified.notification.signedDate == .testNow)
        #expect(verified.transaction?.signedDate == .testNow && verified.renewalInfo?.signedDate == .testNow)
    }
}
