/// What becomes of a verified event. The outcome depends on arrival; the books do not.
package enum EventResult: String, Sendable {
    /// A register moved, or an effect of this event's exists.
    case applied
    /// Everything in it was known already or older.
    case superseded
    /// There was nothing to merge.
    case noEffect = "no_effect"
    /// Its notificationUUID came in another event first. Its facts were merged all the same.
    case duplicate
    /// Its meaning is unknown to this version; what facts it has were merged.
    case unhandled
}

/// Why a charge is not its submitter's. Its facts were merged all the same.
package enum OwnershipDoubt: String, Sendable {
    /// It is somebody else's.
    case conflict = "owner_conflict"
    /// It is nobody's yet, and posting it did not make it the submitter's.
    case unknown = "owner_unknown"
}
