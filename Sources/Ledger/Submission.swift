package import AppStore

/// That somebody posted a charge as his own, which may make him its contract's owner; one for each charge and user.
package struct Submission: Hashable, Sendable {
    package let key: Key
    package let originalTransactionID: String
    /// When it came in, in whole milliseconds: part of the event, as a body is, and no matter of when it is processed.
    package let receivedAt: Timestamp
    package let eventID: Int64

    package init(of transaction: TransactionFact, user: String, receivedAt: Timestamp, eventID: Int64) {
        key = Key(charge: transaction.key, user: user)
        originalTransactionID = transaction.originalTransactionID
        self.receivedAt = receivedAt
        self.eventID = eventID
    }

    /// Takes the other one's place unless that came in later; event ids decide within a millisecond.
    package mutating func join(_ other: Submission) {
        if (other.receivedAt, other.eventID) < (receivedAt, eventID) { self = other }
    }

    /// Which charge, and who posted it.
    ///
    /// Users are told apart byte by byte, as PostgreSQL does: to Swift, two ways of writing an é are equal.
    package struct Key: Hashable, Comparable, Sendable {
        package let charge: LedgerKey
        package let user: String

        package init(charge: LedgerKey, user: String) {
            self.charge = charge
            self.user = user
        }

        package static func == (left: Key, right: Key) -> Bool {
            left.charge == right.charge && left.isUser(right.user)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(charge)
            for byte in user.utf8 { hasher.combine(byte) }
        }

        package static func < (left: Key, right: Key) -> Bool {
            left.charge == right.charge ? left.user.utf8.lexicographicallyPrecedes(right.user.utf8) : left.charge < right.charge
        }

        /// Whether that is who posted it.
        func isUser(_ other: String) -> Bool {
            user.utf8.elementsEqual(other.utf8)
        }
    }
}
