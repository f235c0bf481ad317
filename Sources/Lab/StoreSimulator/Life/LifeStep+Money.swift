import AppStore

extension LifeStep {
    static let money: [LifeStep] = [
        LifeStep("refund the latest", weight: 1, when: { $0.refundable.last != nil }) { life throws(SimulationError) in
            try life.refund(life.refundable.last?.transactionID)
        },
        LifeStep("refund any", weight: 1, when: { !$0.refundable.isEmpty }) { life throws(SimulationError) in
            let id = life.refundable.randomElement(using: &life.generator)?.transactionID
            return try life.refund(id, reason: .refundedDueToIssue)
        },
        LifeStep("refund in part", weight: 1, when: { !$0.refundable.isEmpty }) { life throws(SimulationError) in
            let id = life.refundable.randomElement(using: &life.generator)?.transactionID
            return try life.refund(id, percentage: Int32.random(in: 1...99, using: &life.generator) * 1000)
        },
        LifeStep("reverse a refund", when: { !$0.refunded.isEmpty }) { life throws(SimulationError) in
            try life.reverseRefund(life.refunded.randomElement(using: &life.generator)?.transactionID)
        },
        LifeStep("ask about consumption", weight: 1, when: { !$0.refundable.isEmpty }) { life throws(SimulationError) in
            try life.requestConsumption(life.refundable.randomElement(using: &life.generator)?.transactionID)
        },
        LifeStep("decline a refund", weight: 1, when: { !$0.refundable.isEmpty }) { life throws(SimulationError) in
            try life.declineRefund(life.refundable.randomElement(using: &life.generator)?.transactionID)
        },
        LifeStep("revoke", when: { !$0.revocable.isEmpty }) { life throws(SimulationError) in
            try life.revoke(life.revocable.last?.transactionID)
        },
        LifeStep("rescind consent", weight: 1, when: { _ in true }) { life throws(SimulationError) in life.rescindConsent() },
    ]
}

extension CustomerLife {
    var charges: [SimulatedTransaction] { oneTimeCharges + (subscription?.transactions ?? []) }

    fileprivate var refundable: [SimulatedTransaction] { charges.filter(\.isRefundable) }

    /// Refunded charges.
    fileprivate var refunded: [SimulatedTransaction] {
        charges.filter { $0.revocation?.isRefund == true }
    }

    /// Charges that a customer who has not bought has access to now.
    fileprivate var revocable: [SimulatedTransaction] {
        guard ownership != .purchased else { return [] }
        return oneTimeCharges.filter { $0.revocation == nil } + (isRunning ? (subscription?.transactions.suffix(1) ?? []) : [])
    }
}

extension SimulatedTransaction {
    /// Whether it was paid and not refunded.
    package var isRefundable: Bool { revocation == nil && !isUpgraded && price != nil && ownership == .purchased }
}
