import AppStore
import LivesTesting
import StoreSimulator

/// Events of the original App Store API about the scene's customer.
extension RegressionScene {
    /// Replaces the customer by a family member, who shares the purchases of another Apple ID.
    mutating func joinFamily() {
        var store = SimulatedStore(app: life.app, seed: 2, now: life.now)
        life = store.makeFamilyMember(of: life)
    }

    /// A notification V1 about the state after a notification V2, received one second later.
    ///
    /// - Parameter held: the transactions in the receipt; all when nil.
    mutating func legacy(
        _ type: NotificationTypeV1,
        _ notification: SimulatedNotification,
        receiptHolding held: [SimulatedTransaction]? = nil,
        layout: LegacyLayout = []
    ) -> LifeEvent {
        let receipt = receipt(of: notification, holding: held ?? transactions)
        let legacy = LegacyNotification(type, answer(about: receipt, after: notification), receipt: receipt, layout: layout)
        return event(.legacy(legacy), at: notification.signedDate.advanced(by: .seconds(1)))
    }

    /// A receipt posted by a user's app, received after the purchase that it names.
    mutating func receipt(by user: String, naming notification: SimulatedNotification?, after delay: Duration = .seconds(5)) -> LifeEvent {
        let bought = notification?.transaction ?? life.subscription?.transactions.last
        let post = ReceiptPost(
            receipt: LifeReceipt(
                receipt: SimulatedReceipt.receipt(of: life.app, holding: transactions, madeAt: life.now),
                text: "receipt"
            ),
            app: life.app,
            user: user,
            transactionID: notification?.transactionID
        )
        return event(.receipt(post), at: (bought?.purchaseDate ?? life.now).advanced(by: delay))
    }

    /// Apple's answer about the customer's receipt, requested one second before a notification is signed.
    mutating func answer(_ notification: SimulatedNotification, layout: LegacyLayout) -> LifeEvent {
        let receipt = receipt(of: notification, holding: [])
        var answer = self.answer(about: receipt, after: notification)
        answer.requestDate = notification.signedDate.advanced(by: .seconds(-1))
        return event(.answer(AnsweredReceipt(answer, about: receipt, latest: nil, layout: layout)), at: notification.signedDate)
    }

    private var transactions: [SimulatedTransaction] { life.oneTimeCharges + (life.subscription?.transactions ?? []) }

    private func receipt(of notification: SimulatedNotification, holding held: [SimulatedTransaction]) -> LifeReceipt {
        let receipt = SimulatedReceipt.receipt(of: life.app, holding: held, madeAt: notification.signedDate)
        return LifeReceipt(receipt: receipt, text: "receipt")
    }

    private func answer(about receipt: LifeReceipt, after notification: SimulatedNotification) -> VerifyReceiptAnswer {
        var answer = VerifyReceiptAnswer(
            app: life.app,
            receipt: receipt.receipt,
            requestDate: notification.signedDate,
            transactions: transactions
        )
        answer.renewals = [life.subscription?.renewalInfo].compactMap(\.self)
        return answer
    }
}
