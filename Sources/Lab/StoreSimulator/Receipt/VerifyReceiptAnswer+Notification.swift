extension VerifyReceiptAnswer {
    /// The answer just after a notification, with a receipt that was made then.
    ///
    /// - Parameter transactions: the customer's, in the receipt and in the answer.
    package init(
        after notification: SimulatedNotification,
        holding transactions: [SimulatedTransaction],
        signedBy signer: ReceiptSigner
    ) throws(SimulationError) {
        let instant = notification.signedDate
        let receipt = SimulatedReceipt.receipt(of: notification.app, holding: transactions, madeAt: instant)
        self.init(app: notification.app, receipt: receipt, requestDate: instant, transactions: transactions)
        renewals = [notification.renewalInfo].compactMap(\.self)
        latestReceipt = try signer.base64(receipt)
    }
}
