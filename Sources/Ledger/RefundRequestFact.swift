package import AppStore

/// What Apple asked or decided about the refund of a charge, in one notification.
package struct RefundRequestFact: Hashable, Sendable {
    /// The key of the notification.
    package let key: NotificationKey
    package let kind: Kind
    package let transactionID: String
    package let originalTransactionID: String
    /// Why the customer wants a refund: Apple's `consumptionRequestReason`; only of `asked`.
    package let reason: String?
    /// When the notification was signed; the transaction in it may be older.
    package let signedDate: Timestamp
    /// Whether the charge was bought through the Advanced Commerce API.
    package let isAdvancedCommerce: Bool

    package init(
        _ kind: Kind,
        key: NotificationKey,
        of transaction: TransactionFact,
        reason: String?,
        signedDate: Timestamp,
        isAdvancedCommerce: Bool = false
    ) {
        self.init(
            kind,
            key: key,
            of: (transaction.key.id, transaction.originalTransactionID),
            reason: reason,
            signedDate: signedDate,
            isAdvancedCommerce: isAdvancedCommerce
        )
    }

    package init(_ kind: Kind, key: NotificationKey, of transaction: ReceiptFact, signedDate: Timestamp) {
        self.init(
            kind,
            key: key,
            of: (transaction.key.id, transaction.originalTransactionID),
            reason: nil,
            signedDate: signedDate,
            isAdvancedCommerce: false
        )
    }

    private init(
        _ kind: Kind,
        key: NotificationKey,
        of transaction: (id: String, originalID: String),
        reason: String?,
        signedDate: Timestamp,
        isAdvancedCommerce: Bool
    ) {
        self.key = key
        self.kind = kind
        transactionID = transaction.id
        originalTransactionID = transaction.originalID
        self.reason = reason
        self.signedDate = signedDate
        self.isAdvancedCommerce = isAdvancedCommerce
    }

    /// `asked` stays open until a decision or an answer follows. `reversed` ends a refund: what is refunded later is refunded again.
    package enum Kind: String, Sendable {
        case asked, refunded, declined, reversed
    }

    /// Keeps the one signed first: Apple may sign a retry anew.
    package mutating func join(_ other: RefundRequestFact) {
        if other.precedes(self) { self = other }
    }

    /// Within a millisecond the content decides, byte by byte, so that the order of arrival never matters.
    private func precedes(_ other: RefundRequestFact) -> Bool {
        if signedDate != other.signedDate { return signedDate < other.signedDate }
        return content.lexicographicallyPrecedes(other.content) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private var content: [String] { [kind.rawValue, transactionID, originalTransactionID, reason ?? "", isAdvancedCommerce ? "t" : "f"] }
}
