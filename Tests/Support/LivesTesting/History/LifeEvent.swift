package import AppStore
package import StoreSimulator
package import StrictJSON

/// An event of the inbox. Content and time of receipt are fixed; only the order of processing varies.
package struct LifeEvent: Sendable {
    /// What was received.
    package enum Content: Sendable {
        /// A notification V2.
        case notification(SimulatedNotification)
        /// A transaction posted by a client.
        case post(ClientPost)
        /// An app transaction posted by a client.
        case appTransaction(AppTransactionPost)
        /// A notification V1.
        case legacy(LegacyNotification)
        /// A receipt posted by a client of StoreKit 1.
        case receipt(ReceiptPost)
        /// A posted receipt for which Apple gave no answer.
        case unanswered(LifeReceipt, SimulatedApp)
        /// Apple's answer about a receipt.
        case answer(AnsweredReceipt)
        /// A part of an answer of the App Store Server API.
        case element(AnsweredState)
    }

    /// The event's number in the inbox.
    package let id: Int64
    package let receivedAt: Timestamp
    package let content: Content
    /// The payload of its transaction.
    package private(set) var transaction: Payload?
    /// The payload of its renewal info.
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
        case .element(let element):
            transaction = element.state.transaction.map {
                Payload($0.value.payload(of: element.app, signedDate: element.signedDate), signedDate: element.signedDate)
            }
            renewalInfo =
                element.status == nil
                ? nil
                : element.state.renewalInfo.map {
                    Payload($0.value.payload(of: element.app, signedDate: element.signedDate), signedDate: element.signedDate)
                }
        case .appTransaction, .legacy, .receipt, .unanswered, .answer:
            (transaction, renewalInfo) = (nil, nil)
        }
    }

    /// Creates another event with the same transaction and renewal info, such as a retry; the content must not differ in them.
    init(id: Int64, receivedAt: Timestamp, content: Content, payloadsOf other: LifeEvent) {
        self.id = id
        self.receivedAt = receivedAt
        self.content = content
        transaction = other.transaction
        renewalInfo = other.renewalInfo
    }

    /// The event with a transaction that lacks members.
    func without(_ members: Set<String>) -> LifeEvent {
        guard let transaction else { return self }
        var (event, json) = (self, transaction.json)
        for member in members { json[member] = nil }
        event.transaction = Payload(json, signedDate: transaction.signedDate)
        return event
    }

    /// The app that the event is about.
    package var app: SimulatedApp {
        switch content {
        case .notification(let notification): notification.app
        case .post(let post): post.app
        case .appTransaction(let post): post.app
        case .legacy(let notification): notification.app
        case .receipt(let post): post.app
        case .unanswered(_, let app): app
        case .answer(let answer): answer.app
        case .element(let element): element.app
        }
    }

    /// A payload before signing. Computed once, because it takes most of the time of a history.
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
    /// Notifications V1 need the time of receipt, because their dates in the future do not count.
    fileprivate func received(at instant: Timestamp) -> LifeEvent.Content {
        guard case .legacy(var notification) = self else { return self }
        notification.receivedAt = instant
        return .legacy(notification)
    }
}

/// A transaction's JWS that a client posts, with the user who claims it; nil without a claim.
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

/// An app transaction's JWS that a client posts, with the user who claims it; nil without a claim.
package struct AppTransactionPost: Hashable, Sendable {
    package var appTransaction: SimulatedAppTransaction
    package var app: SimulatedApp
    package var user: String?
}

/// A charge as Apple answers a question, signed then, in a status also the renewal info.
package struct AnsweredState: Hashable, Sendable {
    package var state: PurchaseState
    package var app: SimulatedApp
    package var signedDate: Timestamp
    /// Whether a status was asked for, not a transaction.
    package var isStatus: Bool

    /// The status beside the renewal info; nil where a transaction was asked for.
    package var status: Status? { isStatus ? state.status : nil }
}
