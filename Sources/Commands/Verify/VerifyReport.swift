import AppStore
import AppStoreVerification
import StrictJSON

/// The output of `appstore-inbox verify`: the verdict, and the payloads of valid input.
struct VerifyReport {
    let isValid: Bool
    var json: JSONObject

    /// The location of an error in a body itself, not in its signed parts.
    static let bodyLocation = "body"

    init(_ verdict: Verdict<VerifiedPayload>) throws(JSONSyntaxError) {
        switch verdict {
        case .valid(let payload):
            self.init(isValid: true, json: try Self.valid(payload))
        case .invalid(let rejection):
            self.init(rejection, kind: rejection.notification == nil ? nil : SignedPayloadKind.notification.rawValue)
        }
    }

    /// The report on a receipt outside a body.
    init(_ verdict: Verdict<VerifiedReceipt>) {
        switch verdict {
        case .valid(let receipt):
            self.init(valid: ReceiptReport.kind, payload: ReceiptReport(receipt).json)
        case .invalid(let rejection):
            self.init(rejection, kind: rejection.receipt == nil ? nil : ReceiptReport.kind)
        }
    }

    /// - Parameter kind: what is genuine of it.
    init(_ rejection: Rejection, kind: String?) {
        self.init(invalid: rejection.reason.rawValue, at: rejection.location, detail: rejection.detail, kind: kind)
    }

    /// - Parameter odd: the members that cannot be read.
    init(valid kind: String, payload: JSONObject, receipt: JSONObject? = nil, odd: [String] = []) {
        var json: JSONObject = [
            "verdict": "valid", "reason": .null, "kind": .string(kind), "payload": .object(payload), "transaction": .null,
            "renewalInfo": .null,
        ]
        if let receipt { json["receipt"] = .object(receipt) }
        json.note(odd: odd)
        self.init(isValid: true, json: json)
    }

    init(invalid reason: String, at location: String, detail: String? = nil, kind: String? = nil) {
        let json: JSONObject = [
            "verdict": "invalid", "reason": .string(reason), "location": .string(location), "detail": .optional(detail),
            "kind": .optional(kind), "payload": .null, "transaction": .null, "renewalInfo": .null,
        ]
        self.init(isValid: false, json: json)
    }

    private init(isValid: Bool, json: JSONObject) {
        self.isValid = isValid
        self.json = json
    }

    private static func valid(_ payload: VerifiedPayload) throws(JSONSyntaxError) -> JSONObject {
        var object: JSONObject = ["verdict": "valid", "reason": .null]
        let parts: (kind: SignedPayloadKind, payload: [UInt8], transaction: [UInt8]?, renewalInfo: [UInt8]?, app: [UInt8]?) =
            switch payload {
            case .notification(let verified):
                (
                    .notification, verified.notification.payloadBytes, verified.transaction?.payloadBytes,
                    verified.renewalInfo?.payloadBytes, verified.appTransaction?.payloadBytes
                )
            case .transaction(let signed): (.transaction, signed.payloadBytes, nil, nil, nil)
            case .renewalInfo(let signed): (.renewalInfo, signed.payloadBytes, nil, nil, nil)
            case .appTransaction(let signed): (.appTransaction, signed.payloadBytes, nil, nil, nil)
            }
        object["kind"] = .string(parts.kind.rawValue)
        object["payload"] = try JSONParser().parse(parts.payload)
        object["transaction"] = try parts.transaction.map { bytes throws(JSONSyntaxError) in try JSONParser().parse(bytes) } ?? .null
        object["renewalInfo"] = try parts.renewalInfo.map { bytes throws(JSONSyntaxError) in try JSONParser().parse(bytes) } ?? .null
        if let app = parts.app { object["appTransaction"] = try JSONParser().parse(app) }
        object.note(odd: payload.odd)
        if payload.environment == nil { object["note"] = .string(noEnvironment) }
        return object
    }

    /// Said of transactions and renewal infos of before 2022.
    private static let noEnvironment =
        "names no environment, as what was signed before Apple named the environment: counts inside a notification, which names it; from a "
        + "client it is refused (environment_missing)"
}

extension VerifyReport {
    /// The report as text: the verdict in one line, the payloads below it, each once.
    var text: String {
        var heading = isValid ? "valid: \(json.word("kind") ?? "")" : "invalid: \(json.word("reason") ?? "")"
        if !isValid, let location = json.word("location") { heading += " in \(location)" }
        if let detail = json.word("detail") { heading += " (\(detail))" }
        if !isValid, let kind = json.word("kind") { heading += "; a genuine \(kind)" }
        if let note = json.word("note") { heading += "; \(note)" }
        if case .array(let odd)? = json["oddMembers"] {
            let names = odd.compactMap { if case .string(let name) = $0 { name } else { nil } }
            heading += "; cannot be read: \(names.joined(separator: ", "))"
        }
        let parts = [("payload", json["payload"])] + nested + [("receipt", json["receipt"]), ("verification", json["verification"])]
        return heading.shownSafely + "\n\n" + JSONObject(parts.compactMap { name, part in part.map { (name, $0) } }).text
    }

    /// Each JWS in the payload by its path. Only those that Apple documents are verified.
    private var nested: [(String, JSONValue?)] {
        guard case .object(let payload)? = json["payload"] else { return [] }
        let verified = json.rows("verification").compactMap { $0.word("location") }
        return SignedPart.all(in: payload).map { part in
            let name = verified.contains(part.location) ? part.location : "\(part.location) (not verified)"
            return (name, part.payload.map(JSONValue.object) ?? .string("cannot be decoded: \(part.problem ?? "")"))
        }
    }
}

extension JSONObject {
    /// Adds the members that cannot be read, if there are any.
    fileprivate mutating func note(odd members: [String]) {
        if !members.isEmpty { self["oddMembers"] = .array(members.map { .string($0) }) }
    }
}
