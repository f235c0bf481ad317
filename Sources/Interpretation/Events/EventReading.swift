import AppStore
import AppStoreVerification
package import Ledger

/// What an event was found to be.
package struct EventReading: Sendable {
    let event: InboxEvent
    let reader: EventReader
    /// What to merge, or why there is nothing to merge.
    package var result: Result<EventFacts, EventRefusal> = .failure(.unknownSource)
    package var labels = EventLabels()

    init(_ event: InboxEvent, by reader: EventReader) {
        self.event = event
        self.reader = reader
    }
}

/// Why an event is not merged.
package struct EventRefusal: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case rejected
        /// The same bytes may be accepted later. The text is the error of this attempt.
        case retryable(error: String)
        /// This version does not know what it is.
        case unhandled
    }

    /// The code that is stored and shown.
    package let reason: String
    package let kind: Kind

    init(_ reason: String, _ kind: Kind = .rejected) {
        self.reason = reason
        self.kind = kind
    }

    static let unknownSource = EventRefusal("unknown_source", .unhandled)
}
