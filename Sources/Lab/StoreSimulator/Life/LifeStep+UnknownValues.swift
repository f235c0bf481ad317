package import AppStore

extension LifeStep {
    /// Steps with values that Apple may add to its lists.
    package static let unknownValues: [LifeStep] = [
        LifeStep("own in an unknown way", weight: 1, when: \.mayBeginOtherwise) { life throws(SimulationError) in
            try life.own(as: .undocumented)
            return nil
        },
        LifeStep("subscribe to an unknown type", weight: 1, when: { $0.canSubscribe && $0.ownership == .purchased }) {
            life throws(SimulationError) in
            var plan = life.catalogue.plans.randomElement(using: &life.additionsGenerator)
            plan?.type = .undocumented
            return try life.subscribe(to: plan, appAccountToken: life.someToken())
        },
        LifeStep("redeem a retention offer", weight: 1, when: { $0.isRunning && $0.ownership == .purchased }) {
            life throws(SimulationError) in
            try life.redeem(.retention)
        },
        LifeStep("revoke in an unknown way", weight: 1, when: { $0.isRunning && $0.subscription?.current.revocation == nil }) {
            life throws(SimulationError) in
            try life.revoke(life.subscription?.current.transactionID, as: .undocumented)
        },
    ]
}

extension CustomerLife {
    /// Whether nothing was bought, so that the Apple ID may still be that of a customer who does not buy.
    var mayBeginOtherwise: Bool { hasNoPurchases && ownership == .purchased }
}

extension InAppOwnershipType {
    /// A value that Apple does not document.
    package static let undocumented = InAppOwnershipType(rawValue: "LENT")
}

extension RevocationType {
    /// A value that Apple does not document.
    package static let undocumented = RevocationType(rawValue: "LOAN_REVOKE")
}

extension ProductType {
    /// A value that Apple does not document, of a product that renews: its transactions have an end and a subscription group.
    package static let undocumented = ProductType(rawValue: "Subscription Bundle")
}
