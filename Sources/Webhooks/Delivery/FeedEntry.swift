import FoundationEssentials

/// An entry of the feed that an endpoint is to get.
struct FeedEntry: Sendable {
    enum Kind: String, Sendable {
        /// An open delivery whose time has come.
        case due
        /// It follows what was read before.
        case next
        /// An operator asked for it again.
        case redelivery
    }

    let kind: Kind
    let position: Int64
    let redeliveryID: Int64?
    let id: UUID
    let type: String
    let subject: String?
    /// Failed attempts.
    let attempts: Int
    /// For how long an earlier entry of its subject holds it; nil when none does.
    let heldFor: Duration?
    /// Nil when it has aged or was forgotten.
    let body: [UInt8]?
}

extension FeedEntry: CustomStringConvertible, CustomReflectable {
    /// Without the body.
    var description: String { "\(kind) \(position)" }
    var customMirror: Mirror { Mirror(self, children: ["position": position]) }
}

/// What the database gives to send.
struct TakenEntries: Sendable {
    var entries: [FeedEntry] = []
    /// How far the feed was read; nil: no further than before.
    var through: Int64?
    /// How far the feed was read for a redelivery.
    var redeliveredThrough: (id: Int64, position: Int64)?
}

/// What the database is asked for.
struct TakeRequest: Hashable, Sendable {
    let after: Int64
    /// Positions that are in memory, or reported and not settled.
    let known: [Int64]
    let most: Int
    let mostRedelivered: Int
    let mostBytes: Int
}
