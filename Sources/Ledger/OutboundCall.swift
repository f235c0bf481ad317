/// A call to an external service that an event asks for. The transaction that merges the event's facts writes the call; the outbox makes it
/// later. It is not part of the ledger, because its answer depends on when it is made.
package struct OutboundCall: Hashable, Sendable {
    /// The kind of call in the outbox, such as `verify_receipt`.
    package let kind: String
    /// What is asked, up to 255 bytes: a kind has at most one open call with the same key.
    package let key: String
    package let bundleID: String
    /// The event whose body has the data of the call.
    package let eventID: Int64
    /// The source under which the event's receipt enters the inbox again when there is no answer; nil for no fallback.
    package let fallback: String?
    /// How long the outbox tries.
    package let timeLimit: Duration

    package init(
        kind: String,
        key: String,
        bundleID: String,
        eventID: Int64,
        fallback: String? = nil,
        timeLimit: Duration = .seconds(86_400)
    ) {
        self.kind = kind
        self.key = key
        self.bundleID = bundleID
        self.eventID = eventID
        self.fallback = fallback
        self.timeLimit = timeLimit
    }
}
