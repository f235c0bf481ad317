extension LifeStep {
    static let renewals: [LifeStep] =
        [
            LifeStep("renew", weight: 16, when: { $0.isRunning && $0.willBeCharged }) { life throws(SimulationError) in
                try life.renew()
            },
            LifeStep("fail to renew", when: \.willBeCharged) { life throws(SimulationError) in
                try life.failToRenew(withGracePeriod: false)
            },
            LifeStep("fail to renew with grace", when: \.willBeCharged) { life throws(SimulationError) in
                try life.failToRenew(withGracePeriod: true)
            },
            LifeStep("end the grace period", weight: 6, when: \.isInGracePeriod) { life throws(SimulationError) in
                try life.endGracePeriod()
            },
            LifeStep("recover billing", weight: 12, when: \.canRecover) { life throws(SimulationError) in
                try life.recoverBilling()
            },
            LifeStep("extend the renewal", weight: 1, when: \.isRunning) { life throws(SimulationError) in
                try life.extendRenewal(byDays: Int.random(in: 1...90, using: &life.generator))
            },
            LifeStep("fail to extend the renewal", weight: 1, when: \.isRunning) { life throws(SimulationError) in
                try life.failToExtendRenewal()
            },
        ]
        + ExpiryReason.allCases.map { reason in
            LifeStep(
                "expire: \(reason)",
                weight: reason == .productNotForSale || reason == .unnamed ? 1 : 8,
                when: { $0.canExpire(reason) }
            ) {
                life throws(SimulationError) in
                try life.expire(reason)
            }
        }
}

extension CustomerLife {
    fileprivate var willBeCharged: Bool { subscription.map { $0.phase == .active && $0.willRenew && !$0.awaitsConsent } ?? false }

    fileprivate var isInGracePeriod: Bool {
        guard case .gracePeriod = subscription?.phase else { return false }
        return true
    }

    fileprivate var canRecover: Bool {
        switch subscription?.phase {
        case .gracePeriod(let until): now < until
        case .billingRetry: true
        case nil, .active, .expired, .revoked: false
        }
    }

    fileprivate func canExpire(_ reason: ExpiryReason) -> Bool { subscription.map { canExpire($0, reason) } ?? false }
}
