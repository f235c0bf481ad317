package import AppStore
package import StoreSimulator
package import StrictJSON

/// A receipt that a client posts for a user.
package struct ReceiptPost: Sendable {
    package let receipt: LifeReceipt
    package let app: SimulatedApp
    package let user: String
    /// The purchase just made, according to the client; nil when it names none.
    package let transactionID: String?

    package init(receipt: LifeReceipt, app: SimulatedApp, user: String, transactionID: String?) {
        self.receipt = receipt
        self.app = app
        self.user = user
        self.transactionID = transactionID
    }

    /// Whether the charges come from Apple's answer instead of the receipt.
    package var needsAppleAnswer: Bool { app.bundleID == HistoryGenerator.verifyReceiptApp.bundleID }
}

/// Apple's answer about a receipt.
package struct AnsweredReceipt: Sendable {
    /// The receipt of the request.
    package let receipt: LifeReceipt
    /// `latest_receipt` of the answer; nil without the shared secret.
    package let latest: LifeReceipt?
    /// `latest_receipt_info`, as of ``requestDate``; nil without the shared secret.
    package let transactions: [SimulatedTransaction]?
    /// The customer's contracts, in the order of `pending_renewal_info`.
    package let renewals: [SimulatedRenewalInfo]
    package let requestDate: Timestamp
    package let app: SimulatedApp
    package let layout: LegacyLayout
    package let json: JSONObject

    package init(_ answer: VerifyReceiptAnswer, about receipt: LifeReceipt, latest: LifeReceipt?, layout: LegacyLayout) {
        self.receipt = receipt
        self.latest = answer.transactions == nil ? nil : latest
        transactions = answer.transactions
        renewals = answer.transactions == nil ? [] : answer.renewals
        requestDate = answer.requestDate
        app = answer.app
        self.layout = layout
        json = layout.entries(in: answer.json)
    }
}
