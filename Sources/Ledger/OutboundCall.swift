/// A call to somebody outside that an event asks for. It is written in the transaction that merges the event's facts, and made by the
/// outbox afterwards; no part of the books, for what comes of it depends on when it was made.
package struct OutboundCall: Hashable, Sendable {
    /// What kind of call, such as `verify_receipt`: a kind of the outbox's.
    package let kind: String
    /// What is asked, up to 255 bytes: of several open calls of one kind with the same key one is made.
    package let key: String
    package let bundleID: String
    /// The event whose body the call is made of.
    package let eventID: Int64
    /// The source under which the event's receipt enters the inbox again where there is no answer; nil when nothing takes its place.
    package let fallback: String?
    /// How long it is worth trying.
    package let patience: Duration

    package init(
        kind: String,
        key: String,
        bundleID: String,
        eventID: Int64,
        fallback: String? = nil,
        patience: Duration = .seconds(86_400)
    ) {
        self.kind = kind
        self.key = key
        self.bundleID = bundleID
        self.eventID = eventID
        self.fallback = fallback
        self.patience = patience
    }
}
