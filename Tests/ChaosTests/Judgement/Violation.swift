/// A broken promise.
enum Violation: Hashable {
    /// Answered with 200 more often than it is in the inbox as it was sent.
    case lost(BodyDigest, accepted: Int, stored: Int)
    /// In the inbox more often than it was sent.
    case storedMoreOftenThanSent(BodyDigest, sent: Int, stored: Int)
    /// The run sent no such bytes.
    case eventFromNowhere(Int64)
    /// Not a notification, and yet not refused.
    case misshapenTaken(BodyDigest)
    /// Something good was answered with neither 200 nor 503.
    case refused(BodyDigest, status: Int)
    /// The queue still holds it.
    case stillReady(Int64)
    case withoutOutcome(Int64)
    case severalOutcomes(Int64, count: Int)
    /// An outcome or a queue row of an event that the inbox does not have.
    case withoutEvent(Int64)
    /// What `events_not_exactly_once()` found.
    case notExactlyOnce(Int64)
    /// Not what may become of such a body.
    case wrongOutcome(Int64, result: String)
    /// An attempt of an innocent event was counted.
    case blamed(Int64, error: String)
    /// Never refused, although it was poisoned: the run has tested nothing with it.
    case poisonTaken(Int64)
    /// Of all events with one notificationUUID exactly one is not a duplicate.
    case notAppliedOnce(uuid: String, times: Int)
    /// Not in `seen_notifications`, although it was stored; the events of it that are no duplicates.
    case neverSeen(uuid: String, events: [Int64])
    /// In `seen_notifications`, and yet not stored.
    case seenFromNowhere(uuid: String)
    case effectTwice(String)
    case effectMissing(String)
    case effectFromNowhere(String)
    /// How the books differ from the reference.
    case books(String)
}
