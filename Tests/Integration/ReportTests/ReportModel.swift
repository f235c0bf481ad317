/// The figures by their definitions, one charge after the other, without a thought for speed.
struct ReportModel {
    /// Periods without the copies of their charges, each with what the others of its contract mean for it.
    private let charges: [Placed]

    /// What was bought for one period: a charge and, of a group, the seats that were added to it.
    struct Placed {
        let parts: [Part]
        let number: Int
        let previous: Charge?
        let next: [Charge]?
        /// When renewal of the contract was turned off and on, in order.
        let toggles: [Charge.Toggle]

        var charge: Charge { parts[0].charge }
        var value: String { parts[0].value }
        /// Until when one of the parts gave access; nil for a single purchase.
        var ended: Moment? { parts.compactMap(\.ended).max() }
        /// Whether the contract began before, with charges that are not known.
        var isFirstKnown: Bool { number == 1 && charge.reason != nil && charge.transaction_id != charge.original_transaction_id }
        var wasRefunded: Bool { parts.map(\.charge).wereRefunded }
    }

    struct Part {
        let charge: Charge
        let value: String
        /// Until when it gave access; nil for a single purchase.
        let ended: Moment?
    }

    init(_ lives: [Life], by: String?, environment: String = "Production") {
        charges = lives.flatMap { life in
            let charges = life.charges.filter { !$0.isCopy && $0.environment == environment && $0.ownership == "PURCHASED" }
            let toggles = charges.flatMap(\.toggles).sorted { $0.at < $1.at }
            let periods = charges.filter { $0.additionTo == nil }.map { first in
                [first] + charges.filter { $0.additionTo == first.transaction_id }
            }
            return periods.indices.map { index in
                Placed(
                    parts: periods[index].map { part in
                        let ended = Self.end(of: part, in: periods[index], before: periods[(index + 1)...].map { $0[0] })
                        return Part(charge: part, value: Self.value(of: part, by), ended: ended)
                    },
                    number: index + 1,
                    previous: index > 0 ? periods[index - 1][0] : nil,
                    next: index + 1 < periods.count ? periods[index + 1] : nil,
                    toggles: toggles
                )
            }
        }
    }

    /// What Apple gives or a later period ends is so for all parts of a period; only the refund of a part ends it alone.
    private static func end(of charge: Charge, in period: [Charge], before later: [Charge]) -> Moment? {
        guard let expires = charge.end else { return charge.revoked_at }
        var end = expires
        if let grace = period.compactMap(\.grace_until).first, !later.contains(where: { $0.start <= grace }) { end = grace }
        if let replaced = later.map(\.start).min(), replaced < expires { end = min(end, replaced) }
        return min(end, charge.revoked_at ?? end)
    }

    private static func value(of charge: Charge, _ by: String?) -> String {
        switch by {
        case "app": charge.bundle_id
        case "product": charge.product_id
        case "storefront": charge.storefront ?? "unknown"
        case "currency": charge.currency ?? "unknown"
        case "offer": charge.offer_identifier ?? (charge.offer_type == 1 ? "introductory" : charge.offer_discount_type ?? "none")
        default: "all"
        }
    }

    private var periods: [Placed] { charges.filter(\.charge.is_subscription) }
    private var paid: [Placed] { periods.filter { !$0.charge.isTrial } }

    private static func isActive(_ placed: Placed, at moment: Moment) -> Bool {
        placed.charge.start < moment && placed.ended ?? 0 >= moment
    }

    private static func isActive(_ part: Part, at moment: Moment) -> Bool {
        part.charge.start < moment && part.ended ?? 0 >= moment
    }

    /// By day and value: active, of these in grace, trials.
    func active(at days: [Day]) -> Figures {
        var figures = Figures()
        for day in days {
            for placed in periods where Self.isActive(placed, at: day.end) {
                let isInGrace = placed.charge.end ?? 0 < day.end
                figures["\(day)|\(placed.value)", default: [0, 0, 0]].add(
                    placed.charge.isTrial ? [0, 0, 1] : [1, isInGrace ? 1 : 0, 0]
                )
            }
        }
        return figures
    }

    /// By day, value and currency: subscriptions, without price, MRR. A group is one subscription, and each of its seats that runs is paid.
    func mrr(at days: [Day]) -> Figures {
        var figures = Figures()
        for day in days {
            for placed in paid {
                if Self.isActive(placed, at: day.end) {
                    figures["\(day)|\(placed.value)|\(placed.charge.currency ?? "-")", default: [0, 0, 0]].add(
                        [1, placed.charge.price == nil ? 1 : 0, 0]
                    )
                }
                for part in placed.parts where Self.isActive(part, at: day.end) {
                    let mrr = part.charge.running * Self.timesAMonth(part.charge, from: placed.charge.start)
                    figures["\(day)|\(part.value)|\(part.charge.currency ?? "-")", default: [0, 0, 0]].add([0, 0, mrr])
                }
            }
        }
        return figures.filter { $0.value != [0, 0, 0] }
    }

    private static func timesAMonth(_ charge: Charge, from start: Moment) -> Double {
        let product = Product.all.first { $0.id == charge.product_id }
        if !charge.isIntro, let duration = charge.plan == "MONTHLY" ? "P1M" : product?.duration {
            return ["P1W": 4, "P1M": 1, "P6M": 1.0 / 6, "P1Y": 1.0 / 12][duration] ?? 0
        }
        // Offers and these products last a whole number of days.
        let days = ((charge.end ?? 0) - start) / day
        return [7: 4, 14: 2, 30: 1, 91: 1.0 / 3, 182: 1.0 / 6, 365: 1.0 / 12][days] ?? 28 / Double(days)
    }

    /// By period and value: new, first known, renewals, expirations, churned, net.
    func movement(_ periods: [Period]) -> Figures {
        var figures = Figures()
        for placed in paid {
            for period in periods {
                let key = "\(period.first)|\(placed.value)"
                let isNew = placed.number == 1 || placed.previous?.isTrial == true
                if period.contains(placed.charge.start) {
                    figures[key, default: [0, 0, 0, 0, 0, 0]].add(
                        placed.isFirstKnown ? [0, 1, 0, 0, 0, 1] : isNew ? [1, 0, 0, 0, 0, 1] : [0, 0, 1, 0, -1, 1]
                    )
                }
                if let ended = placed.ended, period.contains(ended) { figures[key, default: [0, 0, 0, 0, 0, 0]].add([0, 0, 0, 1, 1, -1]) }
            }
        }
        return figures
    }

    /// By period and value: active at the start, churned, thousandths.
    func churn(_ periods: [Period]) -> Figures {
        let churned = movement(periods).mapValues { $0[4] }
        var figures = Figures()
        for period in periods {
            let active = active(at: [period.first.previous]).filter { $0.value[0] > 0 }
            let values = Set(active.keys.map { String($0.split(separator: "|")[1]) })
                .union(churned.keys.filter { $0.hasPrefix("\(period.first)|") }.map { String($0.split(separator: "|")[1]) })
            for value in values {
                let count = active["\(period.first.previous)|\(value)"]?[0] ?? 0
                let lost = churned["\(period.first)|\(value)"] ?? 0
                figures["\(period.first)|\(value)"] = [count, lost, count == 0 ? -1 : lost / count * 1_000]
            }
        }
        return figures
    }

    /// By period and value: trials, converted, refunded, thousandths.
    func trials(_ periods: [Period]) -> Figures {
        var figures = Figures()
        for placed in self.periods where placed.charge.isTrial {
            for period in periods where period.contains(placed.charge.start) {
                let isPaid = placed.next.map { !$0[0].isTrial } ?? false
                let isRefunded = isPaid && placed.next?.wereRefunded == true
                figures["\(period.first)|\(placed.value)", default: [0, 0, 0]].add(
                    [1, isPaid && !isRefunded ? 1 : 0, isRefunded ? 1 : 0]
                )
            }
        }
        return figures.mapValues { $0 + [$0[1] / $0[0] * 1_000] }
    }

    /// By period, value and currency: charges, refunded, gross, refunded amount.
    func refunds(_ periods: [Period]) -> Figures {
        var figures = Figures()
        for part in charges.flatMap(\.parts) where !part.charge.isTrial {
            for period in periods where period.contains(part.charge.start) {
                let gross = Double(part.charge.price ?? 0) / 1_000
                let isRefunded = part.charge.wasRefunded
                let lost =
                    isRefunded ? gross * Double(part.charge.revocation_percentage ?? 100_000) / 100_000 : gross - part.charge.running
                figures["\(period.first)|\(part.value)|\(part.charge.currency ?? "-")", default: [0, 0, 0, 0]].add(
                    [1, isRefunded || part.charge.refundedSeats ?? 0 > 0 ? 1 : 0, gross, lost]
                )
            }
        }
        return figures
    }

    /// By product, its payment, month of the first paid charge and period: subscriptions, refunded, size of the cohort.
    func retention() -> Figures {
        var cohorts: [String: [[Int: Bool]]] = [:]
        for (key, charges) in Dictionary(
            grouping: paid.filter { !$0.charge.isIntro },
            by: { "\($0.charge.original_transaction_id)|\($0.charge.bundle_id)|\($0.charge.product_id)|\($0.charge.plan == "MONTHLY")" }
        ) {
            // The product with which the known part of a contract begins may have begun before.
            guard !charges.contains(where: \.isFirstKnown) else { continue }
            let durations = [
                "pro.weekly": "P1W", "pro.monthly": "P1M", "pro.quarterly": "P3M", "pro.half": "P6M", "pro.yearly": "P1Y",
                "pro.committed": "P1Y",
            ]
            let lengths = ["P1W": 7, "P1M": 30.4375, "P3M": 91.3125, "P6M": 182.625, "P1Y": 365.25]
            let product = charges[0].charge.product_id
            let duration = key.hasSuffix("|true") ? "P1M" : durations[product]
            guard let duration, let length = lengths[duration], let first = charges.map(\.charge.start).min() else { continue }
            var places: [Int: Bool] = [:]
            for placed in charges {
                let days = placed.charge.start / day - first / day
                let place = Int((Double(days) / length).rounded())
                places[place] = (places[place] ?? true) && placed.wasRefunded
            }
            cohorts["\(charges[0].charge.bundle_id)|\(product)|\(duration)|\(Day(containing: first).month)", default: []].append(places)
        }
        var figures = Figures()
        for (key, subscriptions) in cohorts {
            for place in Set(subscriptions.flatMap(\.keys)) {
                let found = subscriptions.compactMap { $0[place] }
                figures["\(key)|\(place)"] = [Double(found.count), Double(found.count { $0 }), Double(subscriptions.count)]
            }
        }
        return figures
    }

    /// By value and status.
    func status(at day: Day) -> Figures {
        var figures = Figures()
        for placed in paid where Self.isActive(placed, at: day.end) {
            let charge = placed.charge
            // Apple charges a renewal up to a day before the period begins. Who has cancelled a commitment is charged until it ends.
            let isRenewal = charge.commitment?.isRenewal ?? (charge.reason == "RENEWAL")
            let earliest = (charge.commitment?.began ?? charge.start) - (isRenewal ? 86_400 : 0)
            let toggles = placed.toggles.filter { $0.at >= earliest && $0.at < day.end }
            let status = charge.end ?? 0 < day.end ? "billing_issue" : toggles.last?.willRenew == false ? "set_to_cancel" : "set_to_renew"
            figures["\(placed.value)|\(status)", default: [0]].add([1])
        }
        return figures
    }
}

extension Charge {
    var wasRefunded: Bool { revoked_at != nil && is_upgraded != true }

    /// What was paid, without the seats that Apple refunded while others run. A refund of the whole charge ends it, whatever it gives back.
    var running: Double {
        let seats = wasRefunded ? 0 : refundedSeats ?? 0
        return Double(price ?? 0) / 1_000 * Double(quantity - seats) / Double(quantity)
    }
}

extension [Charge] {
    /// Whether the period that they were bought for was refunded: no added seats run on.
    var wereRefunded: Bool { self[0].wasRefunded && allSatisfy { $0.revoked_at != nil } }
}
