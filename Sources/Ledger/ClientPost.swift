package import AppStore

/// A user's app posted a transaction of a contract, or a receipt with the contract. This may make the user its owner.
package struct ClientPost: Hashable, Sendable {
    package let key: Key
    /// When the event came in, in whole milliseconds; independent of when it is processed.
    package let receivedAt: Timestamp
    package let eventID: Int64

    package init(key: Key, receivedAt: Timestamp, eventID: Int64) {
        self.key = key
        self.receivedAt = receivedAt
        self.eventID = eventID
    }

    /// The post of a transaction.
    package init(of transaction: TransactionFact, user: String, receivedAt: Timestamp, eventID: Int64) {
        let contract = LedgerKey(environment: transaction.key.environment, id: transaction.originalTransactionID)
        let key = Key(contract: contract, user: user, isReceipt: false, transactionID: transaction.key.id)
        self.init(key: key, receivedAt: receivedAt, eventID: eventID)
    }

    /// Keeps the earlier of the two posts; event ids decide within a millisecond.
    package mutating func join(_ other: ClientPost) {
        if (other.receivedAt, other.eventID) < (receivedAt, eventID) { self = other }
    }

    /// The user, the contract and what was posted.
    ///
    /// Users are compared byte by byte, as in PostgreSQL: Swift considers both encodings of é equal.
    package struct Key: Hashable, Sendable {
        /// Environment and original_transaction_id.
        package let contract: LedgerKey
        package let user: String
        /// Whether a receipt was posted; otherwise a transaction.
        package let isReceipt: Bool
        /// The transaction that was posted; for a receipt, the purchase just made. Nil when the post names no purchase of this contract.
        package let transactionID: String?

        package init(contract: LedgerKey, user: String, isReceipt: Bool, transactionID: String?) {
            self.contract = contract
            self.user = user
            self.isReceipt = isReceipt
            self.transactionID = transactionID
        }

        package static func == (left: Key, right: Key) -> Bool {
            left.contract == right.contract && left.isUser(right.user) && left.isReceipt == right.isReceipt
                && left.transactionID == right.transactionID
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(contract)
            for byte in user.utf8 { hasher.combine(byte) }
            hasher.combine(isReceipt)
            hasher.combine(transactionID)
        }

        /// Whether this is the user of the post.
        func isUser(_ other: String) -> Bool {
            user.utf8.elementsEqual(other.utf8)
        }
    }
}
