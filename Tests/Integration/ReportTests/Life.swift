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

    static let all = [
        Product(id: "pro.weekly", days: 7, duration: "P1W", price: 2_990),
        Product(id: "pro.monthly", days: 30, duration: "P1M", price: 9_990),
        Product(id: "pro.quarterly", days: 91, price: 24_990),
        Product(id: "pro.half", days: 182, duration: "P6M", price: 44_990),
        Product(id: "pro.yearly", days: 365, price: 79_990),
        Product(id: "pro.odd", days: 45, price: 12_500),
    ]
}

/// The charges of one contract, in the order in which they were made.
struct Life {
    private(set) var charges: [Charge] = []

    /// All of it is over by the beginning of 2026. The first charges of some are not known.
    ///
    /// - Parameter isRegular: Whether nothing happens but renewals and the end.
    init(index: Int, isRegular: Bool = false, using random: inout SeededGenerator) {
        let id = { (place: Int) in String(2_000_000_000_000_000 + index * 1_000 + place) }
        let isReceipt = random.chance(10)
        let storefront = ["USA", "DEU", nil].randomElement(using: &random) ?? nil
        var product = Product.all.randomElement(using: &random) ?? Product.all[0]
        var start = 1_672_531_200 + Int.random(in: 0..<400 * day / 60, using: &random) * 60
        var template = Charge(
            transaction_id: id(0),
            original_transaction_id: id(0),
            period: id(0),
            bundle_id: index % 3 == 0 ? "com.example.one" : "com.example.two",
            product_id: product.id,
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
        let unknown = isReceipt || isRegular || !random.chance(15) ? 0 : Int.random(in: 1...3, using: &random)
        defer { charges.removeFirst(min(unknown, max(charges.count - 1, 0))) }
        var place = 0
        var isStandard = false
        while start < 1_735_689_600, place < 14 {
            var charge = template
            (charge.transaction_id, charge.period, charge.product_id, charge.start) = (id(place), id(place), product.id, start)
            charge.end = start + product.days * day
            charge.price = isReceipt ? nil : product.price
            if !isStandard { charge.begin(isFirst: place == 0, using: &random) }
            isStandard = !(charge.isIntro && random.chance(50))
            charge.toggle(using: &random)
            place += 1
            // What comes after the period.
            let end = charge.end ?? start
            template.reason = isReceipt ? nil : "RENEWAL"
            var next: Moment? = end
            switch Int.random(in: isRegular ? 30..<100 : 0..<100, using: &random) {
            case 0..<12:  // a failed charge
                charge.grace_until = end + 16 * day
                next = [nil, end, end + 5 * day, end + 16 * day, end + 30 * day].randomElement(using: &random) ?? nil
            case 12..<22:  // a customer who returns, perhaps for another product
                next = random.chance(60) ? end + Int.random(in: 1..<90 * 24, using: &random) * 3_600 : nil
                template.reason = isReceipt ? nil : "PURCHASE"
                product = Product.all.randomElement(using: &random) ?? product
            case 22..<30:  // an upgrade within the period
                next = start + (end - start) / 600 * Int.random(in: 1...9, using: &random) * 60
                template.reason = isReceipt ? nil : "PURCHASE"
                product = Product.all.first { $0.id != product.id } ?? product
                if random.chance(50) { charge.is_upgraded = true }
            case 30..<34: next = nil
            default: break
            }
            charge.refund(using: &random)
            charges.append(charge)
            if isReceipt, random.chance(20) {
                charge.transaction_id = id(place + 500)
                charge.isCopy = true
                (charge.grace_until, charge.toggles) = (nil, [])
                charges.append(charge)
            }
            guard let next else { return }
            start = next
        }
    }

    private mutating func addSingle(_ template: Charge, price: Int64?, using random: inout SeededGenerator) {
        var charge = template
        (charge.product_id, charge.is_subscription, charge.price) = ("coins", false, price)
        charge.refund(using: &random)
        charges = [charge]
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
        guard random.chance(8), !isTrial else { return }
        revoked_at = start + Int.random(in: 1..<40 * 24, using: &random) * 3_600
        revocation_percentage = [nil, 100_000, 40_000].randomElement(using: &random) ?? nil
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
