package import AppStore

/// That somebody's app posted a receipt with a contract in it, which may make him the contract's owner; one for each contract, user and
/// purchase that was named.
package struct ReceiptSubmission: Hashable, Sendable {
    package let key: Key
    /// When it came in, in whole milliseconds: part of the event, as a body is, and no matter of when it is processed.
    package let receivedAt: Timestamp
    package let eventID: Int64

    package init(key: Key, receivedAt: Timestamp, eventID: Int64) {
        self.key = key
        self.receivedAt = receivedAt
        self.eventID = eventID
    }

    /// Takes the other one's place unless that came in later; event ids decide within a millisecond.
    package mutating func join(_ other: ReceiptSubmission) {
        if (other.receivedAt, other.eventID) < (receivedAt, eventID) { self = other }
    }

    /// Which contract, whose app, and which of the contract's purchases it named as the one just made.
    package struct Key: Hashable, Comparable, Sendable {
        /// Environment and original_transaction_id.
        package let contract: LedgerKey
        /// Told apart byte by byte, as in ``Submission/Key``.
        package let user: String
        /// Empty when none of this contract was named.
        package let transactionID: String

        package init(contract: LedgerKey, user: String, transactionID: String = "") {
            self.contract = contract
            self.user = user
            self.transactionID = transactionID
        }

        private var poster: Submission.Key { Submission.Key(charge: contract, user: user) }

        package static func == (left: Key, right: Key) -> Bool {
            left.poster == right.poster && left.transactionID == right.transactionID
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(poster)
            hasher.combine(transactionID)
        }

        package static func < (left: Key, right: Key) -> Bool {
            left.poster == right.poster ? left.transactionID < right.transactionID : left.poster < right.poster
        }
    }
}
