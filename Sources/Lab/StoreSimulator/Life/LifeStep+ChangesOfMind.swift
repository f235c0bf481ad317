extension LifeStep {
    static let changesOfMind: [LifeStep] = [
        LifeStep("turn renewal off", weight: 3, when: { $0.isRunning && $0.autoRenews }) { life throws(SimulationError) in
            try life.turnAutoRenewOff(namingSubtype: life.perhaps(true, oneIn: 8) == nil)
        },
        LifeStep("turn renewal on", weight: 3, when: { $0.isRunning && !$0.autoRenews }) { life throws(SimulationError) in
            try life.turnAutoRenewOn(namingSubtype: life.perhaps(true, oneIn: 8) == nil)
        },
        LifeStep("change the plan", weight: 4, when: { $0.isRunning && $0.hasOtherPlans }) { life throws(SimulationError) in
            try life.changePlan(to: life.anotherPlan(), appAccountToken: life.perhaps(life.someToken(), oneIn: 2))
        },
        LifeStep("keep the plan", when: { $0.isRunning && $0.hasChosenAnotherPlan }) { life throws(SimulationError) in
            try life.keepPlan()
        },
        LifeStep("redeem an offer", weight: 1, when: \.isRunning) { life throws(SimulationError) in
            try life.redeem(.codeForThreeMonths)
        },
        LifeStep("redeem an offer for another plan", weight: 1, when: { $0.isRunning && $0.hasOtherPlans }) {
            life throws(SimulationError) in
            try life.redeem(.winBack, for: life.anotherPlan())
        },
        LifeStep(
            "increase the price",
            weight: 1,
            when: { $0.isRunning && $0.autoRenews && $0.subscription?.priceIncrease == nil && !$0.isCommitted }
        ) {
            life throws(SimulationError) in
            let subscription = try life.contract(for: "PRICE_INCREASE")
            let present = subscription.agreedPrices[subscription.nextProduct.id] ?? subscription.nextProduct.price
            return try life.increasePrice(to: present + 1000, needsConsent: Bool.random(using: &life.generator))
        },
        LifeStep("accept the price", weight: 6, when: { $0.isRunning && $0.subscription?.awaitsConsent == true }) {
            life throws(SimulationError) in
            try life.acceptPriceIncrease()
        },
        LifeStep("migrate", weight: 1, when: { $0.isRunning && $0.subscription?.advancedCommerce == nil && $0.hasPlainTerms }) {
            life throws(SimulationError) in
            try life.migrate()
        },
        LifeStep("update the metadata", weight: 1, when: { $0.isRunning && $0.subscription?.advancedCommerce != nil }) {
            life throws(SimulationError) in
            try life.updateMetadata(displayName: "Simulated plan \(Int.random(in: 1...9, using: &life.generator))")
        },
        LifeStep("change the price", weight: 1, when: { $0.isRunning && $0.subscription?.advancedCommerce != nil }) {
            life throws(SimulationError) in
            try life.changePrice(to: Int64.random(in: 1...20, using: &life.generator) * 1000 - 10)
        },
    ]
}

extension CustomerLife {
    fileprivate var autoRenews: Bool { subscription?.isSetToRenew ?? false }
    fileprivate var hasPlainTerms: Bool { subscription?.terms == PurchaseTerms() }
    fileprivate var otherPlans: [SimulatedProduct] { catalogue.plans.filter { $0.id != subscription?.current.product.id } }
    fileprivate var hasOtherPlans: Bool { !otherPlans.isEmpty }
    fileprivate var hasChosenAnotherPlan: Bool { subscription.map { $0.nextProduct.id != $0.current.product.id } ?? false }

    fileprivate mutating func anotherPlan() throws(SimulationError) -> SimulatedProduct {
        guard let plan = otherPlans.randomElement(using: &generator) else {
            throw .impossible("a change of plan", because: "there is only one plan")
        }
        return plan
    }
}
