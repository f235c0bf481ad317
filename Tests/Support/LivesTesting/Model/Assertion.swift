import AppStore
import OpenSSL
import StrictJSON

/// The statement of one signed payload or of one receipt entry. Statements about one thing are ordered by date, then by hash.
struct Assertion {
    /// The source of a statement about a charge.
    enum Half {
        case jws, receipt
    }

    var half: Half
    var environment: String
    /// The members, with Apple's names in JWS.
    var json: JSONObject
    /// Milliseconds since 1970.
    var signed: Int64
    var status: Status?
    var hash: [UInt8]
    /// Whether the customer has it without having bought it.
    var isShared: Bool

    init(half: Half, environment: String, json: JSONObject, signed: Int64, hash: [UInt8]) {
        self.half = half
        self.environment = environment
        self.json = json
        self.signed = signed
        self.hash = hash
        isShared = (json["inAppOwnershipType"] ?? "PURCHASED") != "PURCHASED"
        // Apple gives a copy the date of the restore.
        if isCopyOfProduct, let date = json["originalPurchaseDate"] { self.json["purchaseDate"] = date }
        // Apple's price of seats is that of one, on average.
        if let money = Seats(of: self)?.money { self.json["price"] = .integer(money) }
        if let money = Seats(renewedBy: self)?.money { self.json["renewalPrice"] = .integer(money) }
    }

    /// The statement of a transaction's payload.
    init(_ payload: LifeEvent.Payload, environment: AppStoreEnvironment) {
        self.init(
            half: .jws,
            environment: environment.rawValue,
            json: payload.json,
            signed: payload.signedDate.millisecondsSince1970,
            hash: Digest.sha256(payload.bytes)
        )
    }

    /// The joint statement of a renewal info's payload and the status beside it.
    init(_ payload: LifeEvent.Payload, environment: AppStoreEnvironment, status: Status?) {
        self.init(payload, environment: environment)
        self.status = status
        hash += withUnsafeBytes(of: (status?.rawValue ?? 0).bigEndian) { Array($0) }
    }

    static func older(_ left: Assertion, _ right: Assertion) -> Bool {
        left.signed != right.signed ? left.signed < right.signed : left.hash.lexicographicallyPrecedes(right.hash)
    }

    /// For equal dates, a JWS counts more than a receipt.
    static func countsLess(_ left: Assertion, _ right: Assertion) -> Bool {
        if left.signed != right.signed { return left.signed < right.signed }
        return left.half != right.half ? right.half == .jws : older(left, right)
    }

    func text(_ member: String) -> String? { json[member]?.text }
    func number(_ member: String) -> Int64? { json[member]?.text.flatMap(Int64.init) }

    /// Whether the token can be an order's number. Version 8 UUIDs are the numbers of purchases without token.
    var namesOrder: Bool {
        guard let token = text("appAccountToken") else { return false }
        return token.dropFirst(14).first != "8"
    }

    /// Whether its purchase is known by originalTransactionId, and the transaction is not the original one.
    private var isCopyOfProduct: Bool {
        !saysSubscription && text("type") != "Consumable" && text("originalTransactionId") != text("transactionId")
    }

    /// The purchase that it grants: by contract and period, by contract, or by transaction.
    var grant: String {
        let id = text("transactionId") ?? ""
        let contract = text("originalTransactionId") ?? ""
        guard saysSubscription else { return text("type") == "Consumable" ? id : contract }
        return text("webOrderLineItemId").map { "\(contract)/\($0)" } ?? id
    }

    /// Whether the charge belongs to a subscription. Without a known type, members that only subscriptions have decide.
    var saysSubscription: Bool {
        text("type").flatMap(Self.isSubscription)
            ?? (text("webOrderLineItemId") != nil
                || text("expiresDate") != nil && (half == .receipt || text("subscriptionGroupIdentifier") != nil))
    }

    /// What a type says; nil for one that Apple had not documented by 2026.
    static func isSubscription(type: String) -> Bool? {
        ["Auto-Renewable Subscription": true, "Non-Consumable": false, "Consumable": false, "Non-Renewing Subscription": false][type]
    }

    /// Whether the revocation was paid back. What is not bought was not paid, and a revocation of another type pays nothing.
    var isRefund: Bool { !isShared && Self.isRefund(type: text("revocationType")) }

    static func isRefund(type: String?) -> Bool { [nil, "REFUND_FULL", "REFUND_PRORATED"].contains(type) }
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
