import AppStore
package import AppStoreVerification
package import Ledger
package import StrictJSON

/// What an event was found to be, and the steps that interpreters share. Each step throws when the event ends there.
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

    /// The value that a body or a part of it is decoded to. The error's raw value is the reason.
    func decoded<Value, Failure: Error & RawRepresentable<String>>(
        _ decode: () throws(Failure) -> Value
    ) throws(EventRefusal) -> Value {
        do {
            return try decode()
        } catch {
            throw EventRefusal(error.rawValue)
        }
    }

    /// The accepted value; takes the labels from it, or from what is genuine of a refused one.
    mutating func accepted<Value: VerifiedContent>(_ verdict: Verdict<Value>) throws(EventRefusal) -> Value {
        switch verdict {
        case .valid(let value):
            isGenuine = true
            labels = value.labels
            odd += value.odd
            unknown += value.unknown
            return value
        case .invalid(let rejection):
            note(rejection)
            labels = EventLabels(rejection)
            // Whose it is may be unread: nothing is told of it, as of every event without a UUID.
            if rejection.isUnreadable { labels.notificationUUID = nil }
            throw EventRefusal(rejection)
        }
    }

    /// Notes what is genuine and cannot be read of refused content.
    mutating func note(_ rejection: Rejection) {
        isGenuine = isGenuine || rejection.genuine != nil
        odd += [rejection.unreadableMember].compactMap(\.self) + (rejection.genuine?.odd ?? [])
    }

    /// The verdict on a receipt in base64; keeps a genuine one.
    mutating func verify(receipt data: String) -> Verdict<VerifiedReceipt> {
        let verdict = reader.receipts.verify(data, receivedAt: event.readAt, diagnostics: diagnostics)
        if case .valid(let genuine) = verdict { receipt = genuine }
        return verdict
    }

    /// Refuses a receipt with a text that PostgreSQL cannot store. In JSON, such a member counts as one that cannot be read.
    func refuseNUL(in receipt: VerifiedReceipt) throws(EventRefusal) {
        if receipt.containsNUL { throw .nul }
    }

    /// The body as a JSON object, and decoded. A shared secret or TLS to Apple vouches for it.
    mutating func decodedDocument<Value: PayloadObject>(as type: Value.Type) throws(EventRefusal) -> (JSONObject, Value) {
        isGenuine = true
        let json: JSONObject
        do {
            json = try JSONParser().parseObject(event.body)
        } catch {
            throw EventRefusal("not_json", .unhandled)
        }
        document = json
        let value = Value(decoding: json)
        odd += value.odd.map(\.kind)
        return (json, value)
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

    fileprivate static let nul = EventRefusal("nul_in_payload", .unhandled)

    init(_ rejection: Rejection) {
        let reason = rejection.unreadableMember.map(Self.unreadableReason) ?? rejection.reason.rawValue
        guard !rejection.isUnreadable else {
            self.init(reason, .unhandled)
            return
        }
        self.init(reason, rejection.isRetryable ? .retryable(error: "\(reason) in \(rejection.location)") : .rejected)
    }

    /// Records these checks of genuine content as a part, up to the first that fails, whose reason is thrown.
    static func check(
        _ part: String,
        _ steps: [(VerificationStep, VerificationReason?)],
        _ diagnostics: VerificationDiagnostics?
    ) throws(EventRefusal) {
        diagnostics?.begin(part, requiring: steps.map(\.0))
        for (step, reason) in steps {
            diagnostics?.record(step, reason)
            if let reason { throw EventRefusal(reason.rawValue) }
        }
    }
}

extension VerificationReason {
    /// The content must name its environment: nothing else proves it, and Sandbox purchases cost nothing.
    static func refusing(_ environment: AppStoreEnvironment?, unless demanded: AppStoreEnvironment) -> VerificationReason? {
        guard let environment else { return .environmentMissing }
        return environment == demanded ? nil : .wrongEnvironment
    }

    static func refusing(_ bundleID: String?, unlessAmong demanded: [String]) -> VerificationReason? {
        guard let bundleID else { return .bundleMissing }
        return demanded.contains(bundleID) ? nil : .wrongBundle
    }
}

/// Verified content of an event.
protocol VerifiedContent {
    var labels: EventLabels { get }
    /// The members that cannot be read.
    var odd: [String] { get }
    /// The values that this version does not know.
    var unknown: [UnknownValue] { get }
}

extension VerifiedNotification: VerifiedContent {
    var labels: EventLabels { EventLabels(self) }
}

extension SignedValue: VerifiedContent where Payload: LabelledPayload {
    var labels: EventLabels { value.labels }
}

/// A payload that is verified by itself.
protocol LabelledPayload: Sendable {
    var labels: EventLabels { get }
}

extension JWSTransactionDecodedPayload: LabelledPayload {
    var labels: EventLabels { EventLabels(self) }
}

extension JWSRenewalInfoDecodedPayload: LabelledPayload {
    var labels: EventLabels { EventLabels(self) }
}

extension AppTransaction: LabelledPayload {
    var labels: EventLabels { EventLabels(self) }
}

extension VerifiedReceipt: VerifiedContent {
    var labels: EventLabels { EventLabels(self) }
    var odd: [String] { [] }
    var unknown: [UnknownValue] { [] }

    /// Whether a text for the ledger contains U+0000, which PostgreSQL cannot store.
    var containsNUL: Bool {
        let texts = receipt.purchases.lazy.flatMap { [$0.transactionID, $0.originalTransactionID, $0.productID, $0.promotionalOfferID] }
        return bundleID.hasNUL || texts.contains { $0?.hasNUL ?? false }
    }
}
