import AppStore
package import AppStoreVerification
package import Ledger
package import StrictJSON

/// What an event was found to be.
package struct EventReading {
    let event: InboxEvent
    let reader: EventReader
    let diagnostics: VerificationDiagnostics?

    /// What to merge, or why there is nothing to merge.
    package internal(set) var result: Result<EventFacts, EventRefusal> = .failure(.unknownSource)
    package internal(set) var labels = EventLabels()

    /// The request of the client that posted it.
    package internal(set) var request: ClientRequest?
    /// The JWS in it, which is untrusted unless the diagnostics say that its signature is valid.
    package internal(set) var jws: ArraySlice<UInt8>?
    /// A body without a signature of its own: a notification V1, or an answer of Apple.
    package internal(set) var document: JSONObject?
    /// The genuine receipt in it.
    package internal(set) var receipt: VerifiedReceipt?
    /// The members of genuine content that this version cannot read.
    var odd: [String] = []
    /// The values of genuine content that this version does not know.
    var unknown: [UnknownValue] = []
    /// Whether a signature, a shared secret or TLS to Apple vouches for the content as a whole.
    var isGenuine = false

    init(_ event: InboxEvent, by reader: EventReader, _ diagnostics: VerificationDiagnostics?) {
        self.event = event
        self.reader = reader
        self.diagnostics = diagnostics
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

    /// A member of genuine content is needed, and is of another type than this version reads.
    ///
    /// - Parameter place: as in ``EventLabels/oddMembers``.
    package static func unreadable(_ place: String) -> EventRefusal { EventRefusal(unreadableReason(place), .unhandled) }

    static func unreadableReason(_ place: String) -> String { "unreadable_member:\(place)" }
}
