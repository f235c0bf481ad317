import AppStore
import FoundationEssentials
import Randomness

extension LifeStep {
    static let purchases: [LifeStep] = [
        LifeStep("subscribe", weight: 6, when: \.canSubscribe) { life throws(SimulationError) in
            try life.subscribe(to: life.anyPlan(), appAccountToken: life.perhapsToken(), offer: life.perhaps(.freeWeek, oneIn: 4))
        },
        LifeStep("subscribe by offer before 2024", weight: 1, when: \.canSubscribe) { life throws(SimulationError) in
            try life.subscribeByOfferBefore2024(to: life.anyPlan(), appAccountToken: life.perhapsToken())
        },
        LifeStep("buy a consumable", weight: 1, when: { $0.sells(.consumable) }) { life throws(SimulationError) in
            let quantity = Int32.random(in: 1...3, using: &life.generator)
            return try life.buyFirst(.consumable, quantity: quantity)
        },
        LifeStep(
            "buy a non-consumable",
            weight: 1,
            when: { life in life.sells(.nonConsumable) && !life.oneTimeCharges.contains { $0.product.type == .nonConsumable } }
        ) { life throws(SimulationError) in
            try life.buyFirst(.nonConsumable)
        },
        LifeStep("buy a non-renewing subscription", weight: 1, when: { $0.sells(.nonRenewingSubscription) }) {
            life throws(SimulationError) in
            try life.buyFirst(.nonRenewingSubscription)
        },
        LifeStep("change the token", weight: 1, when: \.isRunning) { life throws(SimulationError) in
            try life.changeAppAccountToken(to: life.someToken())
            return nil
        },
        LifeStep("change the token of a charge", weight: 1, when: { !$0.oneTimeCharges.isEmpty }) { life throws(SimulationError) in
            if let charge = life.oneTimeCharges.randomElement(using: &life.generator) {
                try life.changeAppAccountToken(ofCharge: charge.transactionID, to: life.someToken())
            }
            return nil
        },
        LifeStep("get another transactionId", weight: 1, when: { $0.isRunning && $0.subscription?.current.hasSeatAddition == false }) {
            life throws(SimulationError) in
            try life.reissueTransactionID()
            return nil
        },
    ]
}

extension CustomerLife {
    var isRunning: Bool { subscription.map { $0.phase == .active && now < $0.expiresDate } ?? false }

    var isCommitted: Bool { subscription?.terms.commitment != nil }

    var canSubscribe: Bool {
        switch subscription?.phase {
        case nil, .expired, .revoked: !catalogue.plans.isEmpty
        case .active, .gracePeriod, .billingRetry: false
        }
    }

    fileprivate func sells(_ type: ProductType) -> Bool { catalogue.oneTimeProducts.contains { $0.type == type } }

    mutating func anyPlan() -> SimulatedProduct? { catalogue.plans.randomElement(using: &generator) }

    /// A token or nil, since purchases outside the app have none.
    fileprivate mutating func perhapsToken() -> UUID? { perhaps(true, oneIn: 4) == nil ? someToken() : nil }

    /// A new token, or sometimes a reused one.
    mutating func someToken() -> UUID {
        if let known = reusableTokens.randomElement(using: &generator), Int.random(in: 0..<3, using: &generator) == 0 { return known }
        return generator.uuid()
    }

    mutating func perhaps<Value>(_ value: Value, oneIn count: Int) -> Value? {
        Int.random(in: 0..<count, using: &generator) == 0 ? value : nil
    }

    fileprivate mutating func buyFirst(_ type: ProductType, quantity: Int32 = 1) throws(SimulationError) -> SimulatedNotification {
        guard let product = catalogue.oneTimeProducts.first(where: { $0.type == type }) else {
            throw .impossible("ONE_TIME_CHARGE", because: "the app sells no \(type.rawValue)")
        }
        return try buy(product, quantity: quantity, appAccountToken: perhapsToken())
    }
}
