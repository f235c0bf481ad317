import AppStore
import AppStoreVerification

/// What `appstore-inbox verify` prints: the verdict, and the payloads when it is valid.
struct VerifyReport {
    let isValid: Bool
    let json: JSONObject

    init(_ verdict: Verdict<VerifiedPayload>) throws(JSONSyntaxError) {
        switch verdict {
        case .valid(let payload):
            self.init(isValid: true, json: try Self.valid(payload))
        case .invalid(let rejection):
            self.init(
                invalid: rejection.reason.rawValue,
                at: rejection.location,
                detail: rejection.detail,
                kind: rejection.notification == nil ? nil : .notification
            )
        }
    }

    init(invalid reason: String, at location: String, detail: String? = nil, kind: SignedPayloadKind? = nil) {
        let json: JSONObject = [
            "verdict": "invalid", "reason": .string(reason), "location": .string(location), "detail": detail.map(JSONValue.string) ?? .null,
            "kind": (kind?.rawValue).map(JSONValue.string) ?? .null, "payload": .null, "transaction": .null, "renewalInfo": .null,
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
        return object
    }
}
