import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import StrictJSON

/// What the program makes of an event's body, by the settings and the code of now; its outcome may be of another day.
struct ExplainedBody: Sendable {
    /// Members of the document.
    let members: JSONObject
    let labels: EventLabels
    /// Nil where the worker would not come that far.
    let facts: EventFacts?
    let refusal: EventRefusal?

    /// Reads the event as if it were claimed at this moment.
    init(_ event: InboxEvent, by reader: EventReader) {
        let diagnostics = VerificationDiagnostics()
        let reading = reader.read(event, diagnostics: diagnostics)
        labels = reading.labels
        switch reading.result {
        case .success(let facts): (self.facts, refusal) = (facts, nil)
        case .failure(let refusal): (self.facts, self.refusal) = (nil, refusal)
        }
        members = [
            "if_run_now": Self.json(reading.result, reading.labels), "request": reading.request.map(Self.json) ?? .null,
            "verification": diagnostics.parts.json, "payloads": .array(Self.payloads(of: reading, event, diagnostics.parts)),
        ]
    }

    private static func json(_ result: Result<EventFacts, EventRefusal>, _ labels: EventLabels) -> JSONValue {
        let (word, reason): (String, String?) =
            switch result {
            case .success(let facts): ("merge", facts.unhandledReason ?? facts.remark)
            case .failure(let refusal):
                switch refusal.kind {
                case .rejected: ("rejected", refusal.reason)
                case .retryable: ("retry", refusal.reason)
                case .unhandled: ("unhandled", refusal.reason)
                }
            }
        var json: JSONObject = ["result": .string(word), "reason": .optional(reason)]
        for (name, notes) in [("odd_members", labels.oddMembers), ("unknown_values", labels.unknownValues)] where !notes.isEmpty {
            json[name] = .array(notes.map { .string($0) })
        }
        return .object(json)
    }

    private static func json(_ request: ClientRequest) -> JSONValue {
        [
            "user_id": .optional(request.user), "transaction_id": .optional(request.transactionID),
            "environment": .string(request.environment.rawValue), "bundle_ids": .optional(request.bundleIDs),
        ]
    }

    /// What is in the body, outermost first.
    private static func payloads(of reading: EventReading, _ event: InboxEvent, _ checks: [VerificationDiagnostics.Part]) -> [JSONValue] {
        let document: JSONValue? = reading.document.map { document in
            [
                "location": .string(VerifyReport.bodyLocation), "kind": .string("\(event.source)"),
                "payload": .object(document.withoutReceipts),
            ]
        }
        let parts = reading.jws.map(SignedPart.all) ?? reading.document.map { SignedPart.all(in: $0) } ?? []
        let signed = parts.map { $0.json(isGenuine: checks.isGenuine($0.location)) }
        let receipt: [JSONValue] = checks.filter { $0.location == ReceiptReport.kind }.map { part in
            [
                "location": .string(part.location), "kind": .string(ReceiptReport.kind),
                "is_genuine": .bool(checks.isGenuine(part.location)),
                "payload": .optional(reading.receipt.map { ReceiptReport($0).json }),
            ]
        }
        return [document].compactMap(\.self) + signed + receipt
    }
}

extension SignedPart {
    /// - Parameter isGenuine: whether a configured root vouches for the signature.
    func json(isGenuine: Bool) -> JSONValue {
        [
            "location": .string(location), "kind": .optional(kind?.rawValue), "is_genuine": .bool(isGenuine),
            "payload": .optional(payload), "problem": .optional(problem),
        ]
    }
}
