import Randomness

/// A moment in seconds since 1970.
typealias Moment = Int

let day = 86_400

/// A charge as Apple tells it, with what happened to it.
struct Charge: Codable {
    var transaction_id: String
    var original_transaction_id: String
    /// The period; copies of a charge share it.
    var period: String
    var bundle_id: String
    var product_id: String
    var is_subscription = true
    var environment = "Production"
    var ownership = "PURCHASED"
    var reason: String?
    var storefront: String?
    var currency: String?
    var price: Int64?
    var offer_type: Int?
    var offer_identifier: String?
    var offer_discount_type: String?
    var start: Moment
    var end: Moment?
    var revoked_at: Moment?
    var revocation_percentage: Int?
    var is_upgraded: Bool?
    /// A restored copy, of which only a receipt tells.
    var isCopy = false
    /// The end of the grace period that Apple gave when the renewal of this period failed.
    var grace_until: Moment?
    /// When renewal was turned off (false) and on.
    var toggles: [Toggle] = []
    var quantity = 1
    /// Whether it is for the seats of a group.
    var isGroup = false
    /// How many of its seats Apple has refunded.
    var refundedSeats: Int?
    /// The first charge of the period, to which the customer added these seats.
    var additionTo: String?
    /// Whether Apple's newest statement about it says that seats were added in its period.
    var isMarked = false
    /// Apple's billing plan.
    var plan: String?
    var commitment: Commitment?
    /// Whether Apple extended it, or charged the next period late.
    var isShifted = false

    /// A month of a year that the customer has agreed to pay by the month.
    struct Commitment: Codable {
        var month: Int
        var until: Moment
        /// When the customer agreed: at a purchase, or by a renewal.
        var began: Moment
        var isRenewal: Bool
    }

    struct Toggle: Codable {
        var at: Moment
        var willRenew: Bool
    }

    var isTrial: Bool { offer_discount_type == "FREE_TRIAL" }
    var isIntro: Bool { offer_type == 1 && !isTrial }
}

/// A product of the made-up shop.
struct Product {
    let id: String
    let days: Int
    /// What appstore.products says of it.
    var duration: String?
    let price: Int64
    /// What a month costs to who pays the year by the month.
    var monthly: Int64?

    static let all = [
        Product(id: "pro.weekly", days: 7, duration: "P1W", price: 2_990),
        Product(id: "pro.monthly", days: 30, duration: "P1M", price: 9_990),
        Product(id: "pro.quarterly", days: 91, price: 24_990),
        Product(id: "pro.half", days: 182, duration: "P6M", price: 44_990),
        Product(id: "pro.yearly", days: 365, price: 79_990),
        Product(id: "pro.odd", days: 45, price: 12_500),
        Product(id: "pro.committed", days: 365, duration: "P1Y", price: 60_000, monthly: 5_990),
    ]
}

/// The charges of one contract, in the order in which they were made.
struct Life {
    private(set) var charges: [Charge] = []

    /// All of it is over by the beginning of 2027. The first periods of some are not known.
    ///
    /// - Parameters:
    ///   - isRegular: Whether nothing happens but renewals and the end.
    ///   - hasGroups: Whether some are of groups, whose seats are added and refunded.
    init(index: Int, isRegular: Bool = false, hasGroups: Bool = true, using random: inout SeededGenerator) {
        let id = { (place: Int) in String(2_000_000_000_000_000 + index * 1_000 + place) }
        let isReceipt = random.chance(10)
        let storefront = ["USA", "DEU", nil].randomElement(using: &random) ?? nil
        let start = 1_672_531_200 + Int.random(in: 0..<400 * day / 60, using: &random) * 60
        var template = Charge(
            transaction_id: id(0),
            original_transaction_id: id(0),
            period: id(0),
            bundle_id: index % 3 == 0 ? "com.example.one" : "com.example.two",
            product_id: "coins",
            environment: random.chance(8) ? "Sandbox" : "Production",
            ownership: random.chance(8) ? "FAMILY_SHARED" : "PURCHASED",
            reason: isReceipt ? nil : "PURCHASE",
            storefront: isReceipt ? nil : storefront,
            currency: isReceipt ? nil : storefront == "DEU" ? "EUR" : "USD",
            start: start
        )
        if random.chance(10) {
            addSingle(template, price: isReceipt ? nil : 1_990, using: &random)
            return
        }
        template.isGroup = hasGroups && !isRegular && !isReceipt && random.chance(35)
        // A member has a transaction of its own, which repeats what the purchaser paid.
        if template.isGroup, random.chance(25) { template.ownership = "ASSIGNED" }
        let unknown = isReceipt || isRegular || !random.chance(15) ? 0 : Int.random(in: 1...3, using: &random)
        var subscription = Subscription(template: template, isRegular: isRegular, id: id, using: &random)
        var periods: [[Charge]] = []
        while let period = subscription.next(using: &random) { periods.append(period) }
        // Without its first month, reports reckon the beginning of a commitment by the calendar, which extensions and late charges shift.
        let lost = periods.joined().contains(where: \.isShifted) ? 0 : min(unknown, periods.count - 1)
        charges = Array(periods.dropFirst(lost).joined())
    }

    private mutating func addSingle(_ template: Charge, price: Int64?, using random: inout SeededGenerator) {
        var charge = template
        (charge.is_subscription, charge.price) = (false, price)
        charge.refund(using: &random)
        charges = [charge]
    }
}

/// A subscription from period to period.
private struct Subscription {
    private var template: Charge
    private let isRegular: Bool
    private let id: (Int) -> String
    private var product: Product
    private var isMonthly: Bool
    private var start: Moment?
    private var place = 0
    private var isStandard = false
    private var commitment: Charge.Commitment?

    init(template: Charge, isRegular: Bool, id: @escaping (Int) -> String, using random: inout SeededGenerator) {
        (self.template, self.isRegular, self.id, start) = (template, isRegular, id, template.start)
        product = Product.all.randomElement(using: &random) ?? Product.all[0]
        isMonthly = product.monthly != nil && template.reason != nil && random.chance(75)
    }

    private var isReceipt: Bool { template.reason == nil }

    /// The charges of the next period: a group may have several.
    mutating func next(using random: inout SeededGenerator) -> [Charge]? {
        guard let start, start < 1_735_689_600, place < 16 else { return nil }
        var charge = template
        (charge.transaction_id, charge.period, charge.product_id, charge.start) = (id(place), id(place), product.id, start)
        if charge.isGroup { charge.quantity = Int.random(in: 1...9, using: &random) }
        if let monthly = product.monthly, isMonthly {
            commit(&charge, price: monthly, using: &random)
        } else {
            commitment = nil
            charge.end = start + product.days * day
            charge.price = isReceipt ? nil : product.price * Int64(charge.quantity)
            charge.plan = product.monthly == nil || isReceipt ? nil : "BILLED_UPFRONT"
            if !isStandard { charge.begin(isFirst: place == 0, using: &random) }
        }
        isStandard = !(charge.isIntro && random.chance(50))
        charge.toggle(using: &random)
        let isUpgrade = advance(after: &charge, from: start, using: &random)
        charge.refund(using: &random)
        var period = [charge]
        if charge.isGroup {
            period.addSeats(before: min(self.start ?? .max, charge.end ?? start), isUpgrade: isUpgrade, id: id, place, using: &random)
        }
        if (isReceipt || charge.isGroup) && random.chance(20), var copy = period.randomElement(using: &random) {
            (copy.transaction_id, copy.isCopy, copy.grace_until, copy.toggles) = (id(place + 900), true, nil, [])
            copy.isMarked = period.count > 1
            period.append(copy)
        }
        place += 1
        return period
    }

    /// A month of a commitment: the first one of the next commitment after the twelfth.
    private mutating func commit(_ charge: inout Charge, price: Int64, using random: inout SeededGenerator) {
        let isRenewal = charge.reason == "RENEWAL"
        var current = commitment ?? .init(month: 0, until: 0, began: charge.start, isRenewal: isRenewal)
        if current.month == 12 { current = .init(month: 0, until: 0, began: charge.start, isRenewal: isRenewal) }
        current.month += 1
        // Months begin on one day of the calendar, or on the last day of a shorter month.
        let end = Day.adding(months: 1, to: charge.start, onDayOf: current.began)
        current.until = Day.adding(months: 13 - current.month, to: charge.start, onDayOf: current.began)
        // Apple extends some.
        charge.isShifted = !isRegular && random.chance(5)
        charge.end = end + (charge.isShifted ? Int.random(in: 1...40, using: &random) * day : 0)
        (charge.price, charge.plan, charge.commitment) = (price * Int64(charge.quantity), "MONTHLY", current)
        commitment = current
    }

    /// What comes after the period.
    ///
    /// - Returns: Whether another product replaces it before it ends.
    private mutating func advance(after charge: inout Charge, from start: Moment, using random: inout SeededGenerator) -> Bool {
        let end = charge.end ?? start
        template.reason = isReceipt ? nil : "RENEWAL"
        self.start = end
        let chance = Int.random(in: isRegular ? 30..<100 : 0..<100, using: &random)
        switch chance {
        case 0..<12:  // a failed charge
            charge.grace_until = end + 16 * day
            self.start = [nil, end, end + 5 * day, end + 16 * day, end + 30 * day].randomElement(using: &random) ?? nil
            charge.isShifted = charge.isShifted || self.start != end
        case 12..<22:  // a customer who returns, perhaps for another product
            self.start = random.chance(60) ? end + Int.random(in: 1..<90 * 24, using: &random) * 3_600 : nil
            template.reason = isReceipt ? nil : "PURCHASE"
            change(to: Product.all.randomElement(using: &random) ?? product, using: &random)
        case 22..<30:  // an upgrade within the period
            self.start = start + (end - start) / 600 * Int.random(in: 1...9, using: &random) * 60
            template.reason = isReceipt ? nil : "PURCHASE"
            change(to: Product.all.first { $0.id != product.id } ?? product, using: &random)
            if random.chance(50) { charge.is_upgraded = true }
        case 30..<34: self.start = nil
        case 34..<44 where !isRegular && product.monthly != nil: change(to: product, using: &random)
        default: break
        }
        return 22..<30 ~= chance
    }

    /// The product of the next period, which may be paid in another way.
    private mutating func change(to product: Product, using random: inout SeededGenerator) {
        self.product = product
        commitment = nil
        isMonthly = product.monthly != nil && !isReceipt && random.chance(50)
    }
}

extension [Charge] {
    /// Adds what the customer of a group adds and Apple refunds within the period, until the period ends or another product replaces it.
    fileprivate mutating func addSeats(
        before limit: Moment,
        isUpgrade: Bool,
        id: (Int) -> String,
        _ place: Int,
        using random: inout SeededGenerator
    ) {
        let first = self[0]
        let count = random.chance(40) && limit - first.start > 7_200 ? Int.random(in: 1...3, using: &random) : 0
        let moments = Set((0..<count).map { _ in Int.random(in: first.start + 60..<limit, using: &random) }).sorted()
        for (index, moment) in moments.enumerated() {
            var added = first
            (added.transaction_id, added.start, added.reason) = (id(600 + place * 10 + index), moment, "PURCHASE")
            // Apple does not say whether it is a line item of its own.
            if random.chance(50) { added.period = added.transaction_id }
            (added.quantity, added.additionTo, added.isMarked) = (Int.random(in: 1...4, using: &random), first.transaction_id, true)
            let whole = Product.all.first { $0.id == first.product_id }.flatMap { first.commitment == nil ? $0.price : $0.monthly } ?? 0
            let isAlike = first.isTrial || random.chance(50)
            added.price = Int64(added.quantity) * (isAlike ? (first.price ?? 0) / Int64(first.quantity) : whole)
            if !isAlike { (added.offer_type, added.offer_identifier, added.offer_discount_type) = (nil, nil, nil) }
            (added.revoked_at, added.revocation_percentage, added.toggles, added.grace_until) = (nil, nil, [], nil)
            added.is_upgraded = isUpgrade && random.chance(50) ? true : nil
            added.refund(using: &random)
            append(added)
        }
        guard let last = moments.last else {
            self[0].refundSeats(using: &random)
            return
        }
        // An older statement about the first one may be the newest that is known.
        self[0].isMarked = random.chance(70)
        // While seats are added to it, the period runs.
        if let revoked = first.revoked_at { self[0].revoked_at = Swift.max(revoked, last + 60) }
        for index in indices { self[index].refundSeats(using: &random) }
        // Apple tells of the failed renewal with any of them.
        if let grace = first.grace_until, let named = indices.randomElement(using: &random) {
            self[0].grace_until = nil
            self[named].grace_until = grace
        }
    }
}

extension Charge {
    /// The offer with which a subscription begins.
    fileprivate mutating func begin(isFirst: Bool, using random: inout SeededGenerator) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3 where isFirst:
            (offer_type, offer_discount_type, end) = (1, "FREE_TRIAL", start + 7 * day)
            price = price.map { _ in 0 }
        case 3..<5 where isFirst:
            (offer_type, offer_discount_type, end) = (1, "PAY_UP_FRONT", start + 14 * day)
            price = price.map { $0 / 2 }
        case 5:
            (offer_type, offer_identifier, offer_discount_type) = (3, "SPRING", "PAY_AS_YOU_GO")
            price = price.map { $0 / 3 }
        default: break
        }
    }

    fileprivate mutating func refund(using random: inout SeededGenerator) {
        guard random.chance(isGroup ? 20 : 8), !isTrial else { return }
        revoked_at = start + Int.random(in: 1..<40 * 24, using: &random) * 3_600
        revocation_percentage = [nil, 100_000, 40_000].randomElement(using: &random) ?? nil
    }

    fileprivate mutating func refundSeats(using random: inout SeededGenerator) {
        if !isTrial, random.chance(15) { refundedSeats = Int.random(in: 0...quantity, using: &random) }
    }

    fileprivate mutating func toggle(using random: inout SeededGenerator) {
        guard let end else { return }
        // Apple charges a renewal up to a day before the period begins.
        if random.chance(10) { toggles = [Toggle(at: end - Int.random(in: 1..<24, using: &random) * 3_600, willRenew: random.chance(30))] }
        guard random.chance(25) else { return }
        var at = start
        for place in 0..<Int.random(in: 1...3, using: &random) {
            at += Int.random(in: 60..<max(120, (end - start) / 4), using: &random)
            toggles.append(Toggle(at: at, willRenew: place % 2 == 1))
        }
    }
}

extension SeededGenerator {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
