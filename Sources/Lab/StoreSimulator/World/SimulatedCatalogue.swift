import AppStore

/// The products of the simulated app: plans of one subscription group, and one-time products.
package struct SimulatedCatalogue: Hashable, Sendable {
    /// Plans of one subscription group; the first is the default.
    package var plans: [SimulatedProduct]
    /// Products without periods.
    package var oneTimeProducts: [SimulatedProduct]

    package init(plans: [SimulatedProduct], oneTimeProducts: [SimulatedProduct]) {
        self.plans = plans
        self.oneTimeProducts = oneTimeProducts
    }

    /// Five plans in three levels of service, and one product of each other type, with identifiers that begin with the bundle id.
    package static func sample(bundleID: String) -> SimulatedCatalogue {
        SimulatedCatalogue(
            plans: [
                .subscription("\(bundleID).plus.monthly", every: .months(1), price: 4990, level: 2),
                .subscription("\(bundleID).pro.monthly", every: .months(1), price: 9990, level: 1),
                .subscription("\(bundleID).plus.yearly", every: .years(1), price: 49_990, level: 2),
                .subscription("\(bundleID).plus.student", every: .months(1), price: 2490, level: 2),
                .subscription("\(bundleID).basic.weekly", every: .weeks(1), price: 990, level: 3),
            ],
            oneTimeProducts: [
                .oneTime("\(bundleID).coins.100", .consumable, price: 990),
                .oneTime("\(bundleID).lifetime", .nonConsumable, price: 99_990),
                .oneTime("\(bundleID).season", .nonRenewingSubscription, price: 14_990),
            ]
        )
    }

    /// The product with this identifier.
    package func product(_ id: String) -> SimulatedProduct? {
        plans.first { $0.id == id } ?? oneTimeProducts.first { $0.id == id }
    }

    /// How a change from one plan to another takes effect.
    package static func change(from old: SimulatedProduct, to new: SimulatedProduct) -> PlanChange {
        if new.level != old.level { return new.level < old.level ? .upgrade : .downgrade }
        return new.period == old.period ? .crossgradeNow : .crossgradeAtRenewal
    }

    /// The plans that a customer of `plan` can change to in that way.
    package func plans(changing plan: SimulatedProduct, by change: PlanChange) -> [SimulatedProduct] {
        plans.filter { $0.id != plan.id && Self.change(from: plan, to: $0) == change }
    }
}

/// The ways of changing to another plan of the group.
package enum PlanChange: Hashable, Sendable {
    /// To a higher level: at once.
    case upgrade
    /// To a lower level: at the next renewal.
    case downgrade
    /// Within a level and with the same period: at once.
    case crossgradeNow
    /// Within a level and with another period: at the next renewal.
    case crossgradeAtRenewal
}
