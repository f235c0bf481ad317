import AppStore
import FoundationEssentials
import StoreSimulator
import StrictJSON

/// The customers of `deploy/demo --legacy`, known to the shop by receipts and notifications V1 only.
///
/// Anna subscribed four months ago and renewed. A later renewal failed, was recovered within the grace period, and she unsubscribed.
/// Yesterday Ben, another account of the shop, subscribed with the same Apple ID. Then Apple refunded Anna's last period.
struct DemoLegacyLife {
    /// A body that is posted, and its file.
    struct Step {
        let name: String
        let bytes: [UInt8]
        /// The receipt in base64, if an app posts it; nil for a notification.
        let receipt: String?
        /// The transaction that it is about.
        let transactionID: String
        /// The answer of verifyReceipt about the customer.
        fileprivate(set) var answer: VerifyReceiptAnswer
    }

    private(set) var steps: [Step] = []
    private let signer: ReceiptSigner
    private let secret: String
    private var life: CustomerLife

    init(signer: ReceiptSigner, secret: String, order: UUID, now: Timestamp) throws {
        self.signer = signer
        self.secret = secret
        let day: Int64 = 86_400
        var store = SimulatedStore(
            app: DemoLife.app,
            catalogue: SimulatedCatalogue(plans: [DemoLife.product], oneTimeProducts: []),
            seed: .random(in: 0 ... .max),
            now: now.advanced(by: .seconds(-130 * day))
        )
        life = store.makeCustomer()

        try addReceipt("anna-bought", life.subscribe(appAccountToken: order))
        try addNotification("anna-renewed", .didRenew, life.renew())
        try addNotification("anna-failed-to-renew", .didFailToRenew, life.failToRenew(withGracePeriod: true))
        life.advance(by: .seconds(5 * day))
        try addNotification("anna-recovered", .didRecover, life.recoverBilling())
        let last = steps.last?.transactionID
        try addNotification("anna-turned-renewal-off", .didChangeRenewalStatus, life.turnAutoRenewOff())
        _ = try life.expire(.voluntary)
        life.advance(to: now.advanced(by: .seconds(-day)))
        try addReceipt("ben-bought", life.subscribe())
        life.advance(to: now.advanced(by: .seconds(-day / 2)))
        try addNotification("anna-refunded", .refund, life.refund(last))
        // verifyReceipt always answers with the current state.
        guard let newest = steps.last?.answer else { return }
        for index in steps.indices {
            steps[index].answer.transactions = newest.transactions
            steps[index].answer.renewals = newest.renewals
            steps[index].answer.latestReceipt = newest.latestReceipt
        }
    }

    private mutating func addReceipt(_ name: String, _ notification: SimulatedNotification) throws {
        let answer = try answer(after: notification)
        let receipt = answer.latestReceipt ?? ""
        let transactionID = notification.transactionID ?? ""
        steps.append(Step(name: name, bytes: Array(receipt.utf8), receipt: receipt, transactionID: transactionID, answer: answer))
    }

    private mutating func addNotification(_ name: String, _ type: NotificationTypeV1, _ notification: SimulatedNotification) throws {
        let answer = try answer(after: notification)
        var posted = SimulatedNotificationV1(type: type, password: secret, answer: answer)
        posted.autoRenewStatusChangeDate = type == .didChangeRenewalStatus ? notification.signedDate : nil
        let body = JSONSerializer.serialize(posted.body)
        let transactionID = notification.transactionID ?? ""
        steps.append(Step(name: name, bytes: body, receipt: nil, transactionID: transactionID, answer: answer))
    }

    /// The answer of verifyReceipt just after a notification.
    private func answer(after notification: SimulatedNotification) throws -> VerifyReceiptAnswer {
        try VerifyReceiptAnswer(after: notification, holding: life.subscription?.transactions ?? [], signedBy: signer)
    }
}
