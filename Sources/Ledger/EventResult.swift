/// The result of a verified event. It depends on the order of arrival; the ledger does not.
package enum EventResult: String, Sendable {
    /// A register moved, or the event brought an effect.
    case applied
    /// Everything in it was already known, or older.
    case superseded
    /// There was nothing to merge.
    case noEffect = "no_effect"
    /// An earlier event has the same notificationUUID. The facts were merged nevertheless.
    case duplicate
    /// This version does not know its meaning; its facts were merged.
    case unhandled
}

/// Why a charge does not belong to the user who posted it. Its facts were merged nevertheless.
package enum OwnershipDoubt: String, Sendable {
    /// It belongs to another user.
    case conflict = "owner_conflict"
    /// It has no owner yet, and the post did not make the user its owner.
    case unknown = "owner_unknown"
}
