/// A broken promise.
enum Violation: Hashable {
    /// Answered with 200 more often than stored.
    case lost(BodyDigest, accepted: Int, stored: Int)
    /// Stored more often than sent.
    case storedMoreOftenThanSent(BodyDigest, sent: Int, stored: Int)
    /// An event whose body the run never sent.
    case unknownEvent(Int64)
    /// A malformed body that was not refused.
    case malformedStored(BodyDigest)
    /// A well-formed body was answered with neither 200 nor 503.
    case refused(BodyDigest, status: Int)
    /// The event is still in the queue.
    case stillReady(Int64)
    case withoutOutcome(Int64)
    case severalOutcomes(Int64, count: Int)
    /// An outcome or a queue row without an inbox row.
    case withoutEvent(Int64)
    /// Returned by `events_not_exactly_once()`.
    case notExactlyOnce(Int64)
    /// A result that this kind of body cannot have.
    case wrongOutcome(Int64, result: String)
    /// An attempt was counted for a failure that the event did not cause.
    case wronglyCounted(Int64, error: String)
    /// A poison event that was never refused: the run has not tested poison with it.
    case poisonNeverRefused(Int64)
    /// Not exactly one of the events with this notificationUUID is other than a duplicate.
    case notAppliedOnce(uuid: String, times: Int)
    /// Stored, but not in `seen_notifications`; with its events that are no duplicates.
    case neverSeen(uuid: String, events: [Int64])
    /// In `seen_notifications`, but not stored.
    case seenButNotStored(uuid: String)
    case effectTwice(String)
    case effectMissing(String)
    case unexpectedEffect(String)
    /// A difference between the ledger and the reference.
    case ledger(String)
}
