package import AppStore
package import StoreSimulator

/// A receipt that a client hands over, with the user whose it is to be.
package struct ReceiptPost: Sendable {
    package let receipt: LifeReceipt
    package let app: SimulatedApp
    package let user: String
    /// The purchase just made, as the client says; nil when it says nothing of the kind.
    package let transactionID: String?

    package init(receipt: LifeReceipt, app: SimulatedApp, user: String, transactionID: String?) {
        self.receipt = receipt
        self.app = app
        self.user = user
        self.transactionID = transactionID
    }

    /// Whether the store is asked about it, and its own word does not count.
    package var isAskedAbout: Bool { app.bundleID == HistoryAuthor.askedApp.bundleID }
}

/// What the store answered about a receipt.
package struct AnsweredReceipt: Sendable {
    /// What was asked about.
    package let receipt: LifeReceipt
    /// The newest one, which the answer has as `latest_receipt`; nil, too, when it was asked without the shared secret.
    package let latest: LifeReceipt?
    /// As new as ``requestDate``; nil when it was asked without the shared secret.
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
