package import AppStore

/// What Apple asked or decided about paying a charge back, in one notification.
package struct RefundStatement: Hashable, Sendable {
    /// The notification's.
    package let key: NotificationKey
    package let kind: Kind
    package let transactionID: String
    package let originalTransactionID: String
    /// Why the customer wants the money back, of an ask: Apple's `consumptionRequestReason`.
    package let reason: String?
    /// When the notification was signed, not the transaction in it, which may be older.
    package let signedDate: Timestamp

    package init(_ kind: Kind, key: NotificationKey, of transaction: TransactionFact, reason: String?, signedDate: Timestamp) {
        self.init(kind, key: key, of: (transaction.key.id, transaction.originalTransactionID), reason: reason, signedDate: signedDate)
    }

    package init(_ kind: Kind, key: NotificationKey, of transaction: ReceiptFact, signedDate: Timestamp) {
        self.init(kind, key: key, of: (transaction.key.id, transaction.originalTransactionID), reason: nil, signedDate: signedDate)
    }

    private init(
        _ kind: Kind,
        key: NotificationKey,
        of transaction: (id: String, originalID: String),
        reason: String?,
        signedDate: Timestamp
    ) {
        self.key = key
        self.kind = kind
        transactionID = transaction.id
        originalTransactionID = transaction.originalID
        self.reason = reason
        self.signedDate = signedDate
    }

    /// Asks are open until a decision or an answer follows.
    package enum Kind: String, Sendable {
        case asked, refunded, declined
    }

    /// Takes the other one's place if that was signed earlier: a retry may be signed anew.
    package mutating func join(_ other: RefundStatement) {
        if other.precedes(self) { self = other }
    }

    /// The rest decides within a millisecond, byte by byte, so that it never matters which one came first.
    private func precedes(_ other: RefundStatement) -> Bool {
        if signedDate != other.signedDate { return signedDate < other.signedDate }
        return content.lexicographicallyPrecedes(other.content) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private var content: [String] { [kind.rawValue, transactionID, originalTransactionID, reason ?? ""] }
}
