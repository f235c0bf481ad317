/// What a customer bought once: a period of a subscription, a consumable, or a product for good. Its transactions are evidence of it.
struct Purchase {
    /// Ordered by number.
    let charges: [Charge]
    /// The purchased transaction with the least number, which represents the purchase.
    let first: Charge
    /// The transaction with the newest statement. For equal dates a revoked one counts, then the one with the greatest number.
    let newest: Charge
    /// The transaction that orders the purchases of a contract: the last one by purchase date, then by end, then by number.
    private let last: Charge

    /// Nil without transactions. Shared and assigned transactions count only where there are no purchased ones.
    init?(_ all: [Charge]) {
        let purchased = all.filter(\.isPurchased)
        charges = (purchased.isEmpty ? all : purchased).sorted(by: Charge.hasLowerNumber)
        guard let first = charges.first, let newest = charges.max(by: Self.saysLess),
            let last = all.max(by: Self.isBefore)
        else { return nil }
        (self.first, self.newest, self.last) = (first, newest, last)
    }

    private static func saysLess(_ left: Charge, _ right: Charge) -> Bool {
        if left.lastSigned != right.lastSigned { return left.lastSigned < right.lastSigned }
        let revoked = (left.revocationDate != nil, right.revocationDate != nil)
        return revoked.0 != revoked.1 ? revoked.1 : Charge.hasLowerNumber(left, right)
    }

    var key: Key { first.key }
    var product: String { first.product }
    var bundle: String { first.bundle }
    var type: String? { first.type ?? charges.compactMap(\.type).max() }
    var isSubscription: Bool { first.isSubscription }
    var givesAccess: Bool { first.givesAccess }
    var purchaseDate: Int64 { first.purchaseDate }
    var expiresDate: Int64? { newest.expiresDate }

    /// The purchase itself, or an instant at which seats were added to it.
    struct Part {
        /// Ordered by number.
        let copies: [Charge]
        /// The one that counts. Of seats that were added it is the first one that Apple marks.
        let first: Charge?

        fileprivate init(addedAt date: Int64?, _ copies: [Charge]) {
            self.copies = copies
            first = copies.first { date == nil || $0.isOfAdditions }
        }

        /// The one with the newest statement.
        var newest: Charge? { copies.max(by: saysLess) }
        /// How many seats were paid back, all of them when the part was; nil of what is for no group. A receipt says nothing of groups.
        var revokedSeats: Int64? {
            guard let said = copies.filter(\.isOfGroup).max(by: saysLess)?.signed else { return nil }
            if newest?.revocationDate != nil, Assertion.isRefund(type: newest?.signed?.text("revocationType")) { return first?.quantity }
            return Seats(of: said)?.revoked ?? 0
        }
    }

    /// What counts together. Apple marks what it adds: what it does not mark is a copy of what has its date, else of the purchase itself.
    var parts: [Part] {
        let added = Set(charges.filter(\.isOfAdditions).map(\.purchaseDate)).subtracting([first.purchaseDate])
        return Dictionary(grouping: charges) { added.contains($0.purchaseDate) ? $0.purchaseDate : nil }.map(Part.init)
    }
    /// The transactions that stand for a part each.
    var counted: [Charge] { parts.compactMap(\.first) }
    /// Of several parts when the last of them ends.
    var revocationDate: Int64? {
        let dates = parts.compactMap(\.newest?.revocationDate)
        return dates.count == parts.count ? dates.max() : nil
    }
    var quantity: Int64? { counted.compactMap(\.quantity).isEmpty ? nil : counted.compactMap(\.quantity).reduce(0, +) }
    var price: Int64? {
        let prices = counted.compactMap { $0.lasting("price").flatMap { Int64($0) } }
        return prices.isEmpty ? nil : prices.reduce(0, +)
    }
    var isUpgraded: Bool { newest.state.text("isUpgraded") == "true" }
    var firstSigned: Int64 { charges.map(\.firstSigned).min() ?? 0 }
    var lastSigned: Int64 { newest.lastSigned }

    /// The refund status. A refund without a percentage is full.
    var status: String {
        guard revocationDate != nil, Assertion.isRefund(type: newest.signed?.text("revocationType")) else {
            return parts.compactMap(\.revokedSeats).contains { $0 > 0 } ? "partly_refunded" : "paid"
        }
        return newest.signed?.number("revocationPercentage") ?? 100_000 >= 100_000 ? "refunded" : "partly_refunded"
    }

    /// By purchase date, then by number.
    static func isEarlier(_ left: Purchase, _ right: Purchase) -> Bool { Charge.isEarlier(left.first, right.first) }

    /// By the last transaction of each.
    static func isBefore(_ left: Purchase, _ right: Purchase) -> Bool { isBefore(left.last, right.last) }

    private static func isBefore(_ left: Charge, _ right: Charge) -> Bool {
        if left.purchaseDate != right.purchaseDate { return left.purchaseDate < right.purchaseDate }
        let ends = (left.expiresDate ?? .min, right.expiresDate ?? .min)
        return ends.0 != ends.1 ? ends.0 < ends.1 : Charge.hasLowerNumber(left, right)
    }
}
