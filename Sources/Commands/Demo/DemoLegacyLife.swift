import AppStore
import FoundationEssentials
import StoreSimulator

/// What happens to the customers of `deploy/demo --legacy`, of whom the shop hears by receipts and notifications V1 alone.
///
/// Anna buys four months ago and renews; a renewal fails, and is charged within the days of grace; she leaves. Yesterday Ben, another
/// account of the shop's, buys with the same Apple ID. Then Apple refunds Anna's last period.
struct DemoLegacyLife {
    /// Something that is posted, and the file it goes to.
    struct Chapter {
        let name: String
        let bytes: [UInt8]
        /// In base64, when it is what an app posts; else it is a notification's body.
        let receipt: String?
        /// The charge that it is about.
        let transactionID: String
        /// What verifyReceipt said of the customer then.
        fileprivate(set) var answer: VerifyReceiptAnswer
    }

    private(set) var chapters: [Chapter] = []
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
        let last = chapters.last?.transactionID
        try addNotification("anna-turned-renewal-off", .didChangeRenewalStatus, life.turnAutoRenewOff())
        _ = try life.expire(.voluntary)
        life.advance(to: now.advanced(by: .seconds(-day)))
        try addReceipt("ben-bought", life.subscribe())
        life.advance(to: now.advanced(by: .seconds(-day / 2)))
        try addNotification("anna-refunded", .refund, life.refund(last))
        // Whoever asks about a receipt hears how things stand when he asks: now.
        guard let newest = chapters.last?.answer else { return }
        for index in chapters.indices {
            chapters[index].answer.transactions = newest.transactions
            chapters[index].answer.renewals = newest.renewals
            chapters[index].answer.latestReceipt = newest.latestReceipt
        }
    }

    private mutating func addReceipt(_ name: String, _ notification: SimulatedNotification) throws {
        let answer = try answer(after: notification)
        let receipt = answer.latestReceipt ?? ""
        let transactionID = notification.transactionID ?? ""
        chapters.append(Chapter(name: name, bytes: Array(receipt.utf8), receipt: receipt, transactionID: transactionID, answer: answer))
    }

    private mutating func addNotification(_ name: String, _ type: NotificationTypeV1, _ notification: SimulatedNotification) throws {
        let answer = try answer(after: notification)
        var told = SimulatedNotificationV1(type: type, password: secret, answer: answer)
        told.autoRenewStatusChangeDate = type == .didChangeRenewalStatus ? notification.signedDate : nil
        let body = JSONSerializer.serialize(told.body)
        let transactionID = notification.transactionID ?? ""
        chapters.append(Chapter(name: name, bytes: body, receipt: nil, transactionID: transactionID, answer: answer))
    }

    /// What the store knows when it has sent a notification.
    private func answer(after notification: SimulatedNotification) throws -> VerifyReceiptAnswer {
        let transactions = life.subscription?.transactions ?? []
        let instant = notification.signedDate
        let receipt = SimulatedReceipt.receipt(of: life.app, holding: transactions, madeAt: instant)
        var answer = VerifyReceiptAnswer(app: life.app, receipt: receipt, requestDate: instant, transactions: transactions)
        answer.renewals = [notification.renewalInfo].compactMap(\.self)
        answer.latestReceipt = try signer.base64(receipt)
        return answer
    }
}
