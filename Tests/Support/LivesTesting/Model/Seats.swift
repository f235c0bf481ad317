import StrictJSON

/// The seats that a statement speaks of. Apple's pages: appstoreserverapi/transactionmultiseatinfo, renewalmultiseatinfo, revokedseatquantity.
struct Seats {
    /// What they cost together: each tier's price for each of its seats; without tiers the average for each.
    let money: Int64?
    /// How many were refunded by now.
    let revoked: Int64

    /// Nil unless the transaction is for several seats, or for those of a group.
    init?(of assertion: Assertion) {
        self.init(assertion, in: "multiSeatInfo", tiers: "priceTiers", price: "price", quantity: "quantity")
        guard assertion.half == .jws, assertion.saysSubscription else { return nil }
    }

    /// Nil unless the renewal is one of several seats, or of those of a group.
    init?(renewedBy assertion: Assertion) {
        self.init(assertion, in: "multiSeatInfo", tiers: "renewalPriceTiers", price: "renewalPrice", quantity: "renewalQuantity")
    }

    private init?(_ assertion: Assertion, in group: String, tiers: String, price: String, quantity: String) {
        var info: JSONObject?
        if case .object(let object) = assertion.json[group] { info = object }
        let seats = assertion.number(quantity) ?? 1
        guard info != nil || seats > 1 else { return nil }
        if case .array(let prices) = info?[tiers], !prices.isEmpty {
            money = prices.reduce(0) { $0 + (Self.number("price", of: $1) ?? 0) * (Self.number("quantity", of: $1) ?? 0) }
        } else {
            money = assertion.number(price).map { $0 * seats }
        }
        revoked = info.flatMap { Self.number("revokedSeatQuantity", of: .object($0)) } ?? 0
    }

    private static func number(_ member: String, of value: JSONValue) -> Int64? {
        guard case .object(let object) = value, case .number(let number) = object[member] else { return nil }
        return number.int64
    }
}

/// The seats of a contract's current period, of all its purchases together.
struct GroupSeats {
    var bought: Int64 = 0
    var added: Int64 = 0
    var revoked: Int64 = 0

    /// Nil unless the purchase is for seats of a group: one of what counts together says so, where a receipt says nothing of groups.
    init?(_ current: Purchase, among charges: [Charge]) {
        guard current.first.isPurchased, current.parts.contains(where: { $0.revokedSeats != nil }), let end = current.expiresDate else {
            return nil
        }
        let others = charges.filter { charge in
            charge.isPurchased && charge.id != current.first.id && charge.product == current.product
                && charge.state.text("isUpgraded") != "true"
                && charge.purchaseDate < end && charge.expiresDate.map { $0 > current.purchaseDate } ?? false
                && (charge.isOfAdditions || current.charges.contains(where: \.isOfAdditions) && !charge.isLater(among: charges))
        }
        let all = ([current.first] + others).sorted(by: Charge.isEarlier)
        for period in Set(all.map(\.period)) {
            guard let purchase = Purchase(charges.filter { $0.period == period }) else { continue }
            bought += purchase.quantity ?? 0
            revoked += purchase.parts.compactMap(\.revokedSeats).reduce(0, +)
        }
        added = bought - (all.first?.quantity ?? 0)
    }
}

extension Charge {
    /// Whether it is one of several transactions of its period; appstoreserverapi/additionaltransactionreason.
    var isOfAdditions: Bool { signed?.text("additionalTransactionReason") != nil }

    var isOfGroup: Bool {
        if case .object = signed?.json["multiSeatInfo"] { true } else { false }
    }

    var quantity: Int64? { lasting("quantity").flatMap { Int64($0) } }

    /// Whether another transaction of its purchase has a lower number.
    fileprivate func isLater(among charges: [Charge]) -> Bool {
        charges.contains { $0.isPurchased && $0.environment == environment && $0.period == period && Charge.hasLowerNumber($0, self) }
    }
}
