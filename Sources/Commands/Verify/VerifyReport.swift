import AppStore
import AppStoreVerification
import Interpretation
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

extension [VerificationDiagnostics.Part] {
    /// The checks of each part: those that passed, the one that failed, and those that were not reached.
    var json: JSONValue { .array(map(\.json)) }

    /// Whether the signature of that part is valid; it may be refused all the same.
    func isGenuine(_ location: String) -> Bool {
        contains { part in
            part.location == location && part.checks.contains { $0.step == .signature && $0.failure == nil }
        }
    }
}

extension VerificationDiagnostics.Part {
    fileprivate var json: JSONValue {
        let failed = checks.lazy.compactMap { check in check.failure.map { (check.step, $0) } }.first
        return [
            "location": .string(location), "passed": Self.json(checks.filter { $0.failure == nil }.map(\.step)),
            "failed": failed.map { step, failure in
                [
                    "step": .string(step.rawValue), "requires": .string(step.summary), "reason": .string(failure.reason.rawValue),
                    "detail": .optional(failure.detail),
                ]
            } ?? .null,
            "not_reached": Self.json(notReached),
        ]
    }

    private static func json(_ steps: [VerificationStep]) -> JSONValue { .array(steps.map { .string($0.rawValue) }) }
}

/// Verifies a notification V1 without its shared secret: whether its receipt is genuine and belongs to the app that the body names.
struct NotificationV1Report {
    /// The value of `kind` for a notification V1.
    static let kind = "notification-v1"

    let report: VerifyReport

    init(_ body: NotificationV1Body, _ demands: VerifyDemands, receivedAt now: Timestamp, _ diagnostics: VerificationDiagnostics) {
        let json: JSONObject
        let notification: ResponseBodyV1
        do {
            json = try JSONParser().parseObject(body.bytes)
            notification = ResponseBodyV1(decoding: json)
        } catch {
            report = VerifyReport(invalid: "not_json", at: VerifyReport.bodyLocation, detail: "\(error)")
            return
        }
        guard let data = notification.receiptData else {
            report = VerifyReport(invalid: "receipt_missing", at: VerifyReport.bodyLocation)
            return
        }
        switch ReceiptVerifier(policy: demands.receiptPolicy).verify(data, receivedAt: now, diagnostics: diagnostics) {
        case .invalid(let rejection):
            report = VerifyReport(rejection, kind: rejection.receipt == nil ? nil : Self.kind)
        case .valid(let receipt):
            do throws(AuthenticNotificationV1.Refusal) {
                _ = try AuthenticNotificationV1(
                    notification,
                    receipt: .verified(receipt),
                    digest: ContentDigest.ofNotificationV1(json),
                    receivedAt: now,
                    policy: demands.receiptPolicy
                )
                report = VerifyReport(
                    valid: Self.kind,
                    payload: json.withoutReceipts,
                    receipt: ReceiptReport(receipt).json,
                    odd: notification.odd.map(\.kind)
                )
            } catch {
                report = VerifyReport(invalid: error.rawValue, at: VerifyReport.bodyLocation, kind: Self.kind)
            }
        }
    }
}

extension JSONObject {
    /// The object with the length of each base64 receipt and JWS in place of its text.
    var withoutReceipts: JSONObject {
        var object = self
        for member in members {
            switch (member.name, member.value) {
            case ("latest_receipt", .string(let receipt)), ("latest_expired_receipt", .string(let receipt)),
                ("receiptData", .string(let receipt)):
                object[member.name] = .string("(\(receipt.utf8.count) characters of a receipt)")
            case (_, .string(let text)) where text.isJWS: object[member.name] = .string("(\(text.utf8.count) characters of a JWS)")
            case (_, .object(let inner)): object[member.name] = .object(inner.withoutReceipts)
            default: break
            }
        }
        return object
    }
}

/// A genuine app receipt as JSON.
struct ReceiptReport {
    /// The value of `kind` for a receipt.
    static let kind = "receipt"

    let json: JSONObject

    init(_ verified: VerifiedReceipt) {
        let receipt = verified.receipt
        var json: JSONObject = ["environment": .string(verified.environment.rawValue), "bundleId": .string(verified.bundleID)]
        json["appItemId"] = receipt.appItemID.map { .integer($0) }
        json["applicationVersion"] = receipt.applicationVersion.map(JSONValue.string)
        json["originalApplicationVersion"] = receipt.originalApplicationVersion.map(JSONValue.string)
        json["creationDate"] = .date(verified.creationDate)
        json["originalPurchaseDate"] = receipt.originalPurchaseDate.map(JSONValue.date)
        json["expirationDate"] = receipt.expirationDate.map(JSONValue.date)
        json["signatureDigest"] = .string(verified.digest.rawValue)
        json["contentHash"] = .string(ContentDigest.hexadecimal(verified.contentHash))
        json["purchases"] = .array(receipt.purchases.map { .object(Self.json($0)) })
        self.json = json
    }

    private static func json(_ purchase: InAppPurchase) -> JSONObject {
        var json = JSONObject()
        json["transactionId"] = purchase.transactionID.map(JSONValue.string)
        json["originalTransactionId"] = purchase.originalTransactionID.map(JSONValue.string)
        json["webOrderLineItemId"] = purchase.webOrderLineItemID.map(JSONValue.string)
        json["productId"] = purchase.productID.map(JSONValue.string)
        json["productType"] = purchase.productType.map { .integer($0.rawValue) }
        json["quantity"] = purchase.quantity.map { .integer($0) }
        json["purchaseDate"] = purchase.purchaseDate.map(JSONValue.date)
        json["originalPurchaseDate"] = purchase.originalPurchaseDate.map(JSONValue.date)
        json["expiresDate"] = purchase.expiresDate.map(JSONValue.date)
        json["cancellationDate"] = purchase.cancellationDate.map(JSONValue.date)
        json["isTrialPeriod"] = purchase.isTrialPeriod.map(JSONValue.bool)
        json["isInIntroOfferPeriod"] = purchase.isInIntroOfferPeriod.map(JSONValue.bool)
        json["promotionalOfferId"] = purchase.promotionalOfferID.map(JSONValue.string)
        return json
    }
}

extension JSONValue {
    /// An instant in RFC 3339.
    fileprivate static func date(_ date: Timestamp) -> JSONValue { .string("\(date)") }
}
