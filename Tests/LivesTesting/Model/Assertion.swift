import AppStore
import OpenSSL

/// What one signed payload, or one entry of a receipt, says. Statements about one thing are put in order by when they were made, then by a
/// hash.
struct Assertion {
    /// Who can vouch for a charge.
    enum Half {
        case jws, receipt
    }

    var half: Half
    var environment: String
    /// The payload with the names that Apple gives in JWS, whatever they were in.
    var json: JSONObject
    /// Milliseconds since 1970.
    var signed: Int64
    var status: Status?
    var hash: [UInt8]
    /// Whether what it says was taken back was another family member's purchase.
    var isOfFamily: Bool

    init(half: Half, environment: String, json: JSONObject, signed: Int64, hash: [UInt8]) {
        self.half = half
        self.environment = environment
        self.json = json
        self.signed = signed
        self.hash = hash
        isOfFamily = json["inAppOwnershipType"] == "FAMILY_SHARED"
    }

    /// What a transaction's payload says.
    init(_ payload: LifeEvent.Payload, environment: AppStoreEnvironment) {
        self.init(
            half: .jws,
            environment: environment.rawValue,
            json: payload.json,
            signed: payload.signedDate.millisecondsSince1970,
            hash: Digest.sha256(payload.bytes)
        )
    }

    /// What a renewal info's payload and the status beside it say: the two are one assertion.
    init(_ payload: LifeEvent.Payload, environment: AppStoreEnvironment, status: Status?) {
        self.init(payload, environment: environment)
        self.status = status
        hash += withUnsafeBytes(of: (status?.rawValue ?? 0).bigEndian) { Array($0) }
    }

    static func older(_ left: Assertion, _ right: Assertion) -> Bool {
        left.signed != right.signed ? left.signed < right.signed : left.hash.lexicographicallyPrecedes(right.hash)
    }

    /// Of one instant, what Apple signed by itself counts more than what it put into a receipt.
    static func countsLess(_ left: Assertion, _ right: Assertion) -> Bool {
        if left.signed != right.signed { return left.signed < right.signed }
        return left.half != right.half ? right.half == .jws : older(left, right)
    }

    func text(_ member: String) -> String? { json[member]?.text }
    func number(_ member: String) -> Int64? { json[member]?.text.flatMap(Int64.init) }

    /// Whether it has a token that can be an order's number: version 5 UUIDs are the numbers of paid periods.
    var namesOrder: Bool {
        guard let token = text("appAccountToken") else { return false }
        return token.dropFirst(14).first != "5"
    }

    /// Whether the charge is one of a contract. Who does not say it says what only such a charge has.
    var saysSubscription: Bool {
        if let type = text("type") { return type == "Auto-Renewable Subscription" }
        return text("webOrderLineItemId") != nil || (half == .receipt && text("expiresDate") != nil)
    }
}

extension JSONValue {
    /// The value as PostgreSQL writes it as text.
    fileprivate var text: String? {
        switch self {
        case .string(let value): value
        case .number(let value): value.int64.map(String.init)
        case .bool(let value): value ? "true" : "false"
        case .null, .array, .object: nil
        }
    }
}
