import AppStore

extension LifeStep {
    /// Steps of commitments that are paid by the month.
    package static let commitments: [LifeStep] = [
        LifeStep("commit to twelve months", weight: 8, when: { $0.canSubscribe && $0.ownership == .purchased }) {
            life throws(SimulationError) in
            let plans = life.catalogue.plans.filter { $0.period == .years(1) }
            let plan = plans.randomElement(using: &life.additionsGenerator) ?? life.catalogue.plans.first
            // The months together cost a tenth more than the year at once.
            let terms = CommitmentTerms(monthlyPrice: (plan?.price ?? 0) * 11 / 120)
            return try life.subscribe(to: plan, appAccountToken: life.someToken(), terms: PurchaseTerms(commitment: terms))
        },
        LifeStep("cancel the commitment", weight: 4, when: \.hasRenewingCommitment) { life throws(SimulationError) in
            if Bool.random(using: &life.additionsGenerator) { return try life.turnAutoRenewOff() }
            try life.cancelCommitment()
            return nil
        },
        // Otherwise few commitments would get to their last month.
        LifeStep("pay the next month", weight: 60, when: { $0.isRunning && $0.isCommitted && $0.subscription?.willRenew == true }) {
            life throws(SimulationError) in
            try life.renew()
        },
    ]
}

extension CustomerLife {
    fileprivate var hasRenewingCommitment: Bool { isRunning && subscription?.terms.commitment?.renews == true }
}
