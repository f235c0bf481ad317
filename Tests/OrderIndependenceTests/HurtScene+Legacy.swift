import AppStore
import LivesTesting
import StoreSimulator

/// What the old App Store tells of the scene's customer.
extension HurtScene {
    /// The customer's Apple ID is one that has what another one bought.
    mutating func joinFamily() {
        var store = SimulatedStore(app: life.app, seed: 2, now: life.now)
        life = store.makeFamilyMember(of: life)
    }

    /// A notification V1 about the state after a notification V2, one second after it was made.
    ///
    /// - Parameter held: what the receipt inside holds; everything when nil.
    mutating func legacy(
        _ type: NotificationTypeV1,
        _ notification: SimulatedNotification,
        receiptHolding held: [SimulatedTransaction]? = nil,
        layout: LegacyLayout = []
    ) -> LifeEvent {
        let receipt = receipt(of: notification, holding: held ?? transactions)
        let told = LegacyNotification(type, told(notification, receipt), receipt: receipt, layout: layout)
        return event(.legacy(told), at: notification.signedDate.advanced(by: .seconds(1)))
    }

    /// What somebody's app posts, so long after the purchase that it names.
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

    /// What the store answers about the customer's receipt just before it signs a notification.
    mutating func answer(_ notification: SimulatedNotification, layout: LegacyLayout) -> LifeEvent {
        let receipt = receipt(of: notification, holding: [])
        var answer = told(notification, receipt)
        answer.requestDate = notification.signedDate.advanced(by: .seconds(-1))
        return event(.answer(AnsweredReceipt(answer, about: receipt, latest: nil, layout: layout)), at: notification.signedDate)
    }

    private var transactions: [SimulatedTransaction] { life.oneTimeCharges + (life.subscription?.transactions ?? []) }

    private func receipt(of notification: SimulatedNotification, holding held: [SimulatedTransaction]) -> LifeReceipt {
        let receipt = SimulatedReceipt.receipt(of: life.app, holding: held, madeAt: notification.signedDate)
        return LifeReceipt(receipt: receipt, text: "receipt")
    }

    private func told(_ notification: SimulatedNotification, _ receipt: LifeReceipt) -> VerifyReceiptAnswer {
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
