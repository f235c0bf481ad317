import AppStore
import AppStoreVerification
import StrictJSON

/// Steps that interpreters share. Each throws when the event ends there.
extension EventReading {
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
            labels = value.labels
            try refuseNUL(in: value)
            return value
        case .invalid(let rejection):
            labels = EventLabels(rejection)
            throw EventRefusal(rejection)
        }
    }

    /// The verdict on a receipt in base64; keeps a genuine one.
    mutating func verify(receipt data: String) -> Verdict<VerifiedReceipt> {
        let verdict = reader.receipts.verify(data, receivedAt: event.readAt, diagnostics: diagnostics)
        if case .valid(let genuine) = verdict { receipt = genuine }
        return verdict
    }

    /// Refuses a value with a text that PostgreSQL cannot store.
    func refuseNUL(in value: some VerifiedContent) throws(EventRefusal) {
        if value.containsNUL { throw .nul }
    }

    /// The body as a JSON object, and decoded.
    mutating func decodedDocument<Value>(_ decode: (JSONObject) throws(MalformedPayload) -> Value) throws(EventRefusal) -> (
        JSONObject, Value
    ) {
        let json: JSONObject
        do {
            json = try JSONParser().parseObject(event.body)
        } catch {
            throw EventRefusal("not_json")
        }
        document = json
        if JSONParser.containsNUL(in: event.body) { throw .nul }
        do {
            return (json, try decode(json))
        } catch {
            throw EventRefusal("malformed_payload")
        }
    }
}

extension EventRefusal {
    fileprivate static let nul = EventRefusal("nul_in_payload")

    init(_ rejection: Rejection) {
        let reason = rejection.reason.rawValue
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
    /// Whether a text in it contains U+0000, which PostgreSQL cannot store.
    var containsNUL: Bool { get }
}

extension VerifiedNotification: VerifiedContent {
    var labels: EventLabels { EventLabels(self) }

    var containsNUL: Bool {
        let payloads = [notification.payloadBytes, transaction?.payloadBytes, renewalInfo?.payloadBytes, appTransaction?.payloadBytes]
        return payloads.contains { $0.map(JSONParser.containsNUL(in:)) ?? false }
    }
}

extension SignedValue: VerifiedContent where Payload: LabelledPayload {
    var labels: EventLabels { value.labels }
    var containsNUL: Bool { JSONParser.containsNUL(in: payloadBytes) }
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

    /// Looks only at texts for the ledger.
    var containsNUL: Bool {
        let texts = receipt.purchases.lazy.flatMap { [$0.transactionID, $0.originalTransactionID, $0.productID, $0.promotionalOfferID] }
        return bundleID.utf8.contains(0) || texts.contains { $0?.utf8.contains(0) ?? false }
    }
}
