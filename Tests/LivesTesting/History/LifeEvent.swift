package import AppStore
package import StoreSimulator

/// Something that came in: what was sent, and when it was received. Both are fixed; only when it is processed may vary.
package struct LifeEvent: Sendable {
    /// What was sent.
    package enum Content: Sendable {
        /// By the store.
        case notification(SimulatedNotification)
        /// By somebody with an app.
        case post(ClientPost)
        /// By the store, to an address of notifications V1.
        case legacy(LegacyNotification)
        /// By somebody with an app of StoreKit 1.
        case receipt(ReceiptPost)
        /// By ourselves: a posted receipt about which the store was asked in vain.
        case unanswered(LifeReceipt, SimulatedApp)
        /// By the store, asked about a receipt.
        case answer(AnsweredReceipt)
    }

    /// The event's number in the inbox.
    package let id: Int64
    package let receivedAt: Timestamp
    package let content: Content
    /// The payload of the transaction that it brings.
    package let transaction: Payload?
    /// The payload of the renewal info that it brings.
    package let renewalInfo: Payload?

    package init(id: Int64, receivedAt: Timestamp, content: Content) {
        self.id = id
        self.receivedAt = receivedAt
        self.content = content.received(at: receivedAt)
        switch content {
        case .notification(let notification):
            let (app, shape) = (notification.app, notification.shape)
            transaction = notification.state?.transaction.map {
                Payload($0.value.payload(of: app, signedDate: $0.signedDate, shape: shape), signedDate: $0.signedDate)
            }
            renewalInfo = notification.state?.renewalInfo.map {
                Payload($0.value.payload(of: app, signedDate: $0.signedDate, shape: shape), signedDate: $0.signedDate)
            }
        case .post(let post):
            transaction = Payload(post.transaction.payload(of: post.app, signedDate: post.signedDate), signedDate: post.signedDate)
            renewalInfo = nil
        case .legacy, .receipt, .unanswered, .answer:
            (transaction, renewalInfo) = (nil, nil)
        }
    }

    /// Another event with the same transaction and renewal info in it, such as a retry; content that differs in them is a mistake.
    init(id: Int64, receivedAt: Timestamp, content: Content, payloadsOf other: LifeEvent) {
        self.id = id
        self.receivedAt = receivedAt
        self.content = content
        transaction = other.transaction
        renewalInfo = other.renewalInfo
    }

    /// Whose customers it is about.
    package var app: SimulatedApp {
        switch content {
        case .notification(let notification): notification.app
        case .post(let post): post.app
        case .legacy(let notification): notification.app
        case .receipt(let post): post.app
        case .unanswered(_, let app): app
        case .answer(let answer): answer.app
        }
    }

    /// A payload inside, as it would be signed. Made once: most of the time that a life takes goes into it.
    package struct Payload: Sendable {
        package let json: JSONObject
        package let bytes: [UInt8]
        package let signedDate: Timestamp

        init(_ json: JSONObject, signedDate: Timestamp) {
            self.json = json
            bytes = JSONSerializer.serialize(json)
            self.signedDate = signedDate
        }
    }
}

extension LifeEvent.Content {
    /// Only of notifications V1 it is said in themselves: some of it is not believed before its time.
    fileprivate func received(at instant: Timestamp) -> LifeEvent.Content {
        guard case .legacy(var notification) = self else { return self }
        notification.receivedAt = instant
        return .legacy(notification)
    }
}

/// A transaction's JWS that a client hands over, with the user who says that it is his; nil when he says nothing.
package struct ClientPost: Hashable, Sendable {
    package var transaction: SimulatedTransaction
    package var signedDate: Timestamp
    package var app: SimulatedApp
    package var user: String?

    package init(transaction: SimulatedTransaction, signedDate: Timestamp, app: SimulatedApp, user: String?) {
        self.transaction = transaction
        self.signedDate = signedDate
        self.app = app
        self.user = user
    }
}
