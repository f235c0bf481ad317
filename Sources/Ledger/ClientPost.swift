package import AppStore

/// That a user's app posted a transaction of a contract, or a receipt that holds the contract, which may make the user its owner.
package struct ClientPost: Hashable, Sendable {
    package let key: Key
    /// When it came in, in whole milliseconds: part of the event, as a body is, whenever it is processed.
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

    /// Takes the place of this one when the other came in earlier; event ids decide within a millisecond.
    package mutating func join(_ other: ClientPost) {
        if (other.receivedAt, other.eventID) < (receivedAt, eventID) { self = other }
    }

    /// Whose app posted what of which contract.
    ///
    /// Users are told apart byte by byte, as PostgreSQL does: to Swift, two ways of writing an é are equal.
    package struct Key: Hashable, Sendable {
        /// Environment and original_transaction_id.
        package let contract: LedgerKey
        package let user: String
        /// Whether a receipt was posted; otherwise a transaction.
        package let isReceipt: Bool
        /// The transaction that was posted. Of a receipt the purchase that was just made; nil when the post names none of this contract.
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

        /// Whether that is the user whose app posted it.
        func isUser(_ other: String) -> Bool {
            user.utf8.elementsEqual(other.utf8)
        }
    }
}
