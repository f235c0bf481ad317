import AppStore

private let day = Duration.seconds(86_400)

extension TriggerScenario {
    static let beginnings: [String: TriggerScenario] = [
        "SUBSCRIBED/INITIAL_BUY": TriggerScenario(.first) { state throws(SimulationError) in
            try state.life.subscribe(to: state.plan, appAccountToken: state.token)
        },
        "SUBSCRIBED/RESUBSCRIBE": returning { state throws(SimulationError) in
            try state.life.subscribe(to: state.plan, appAccountToken: state.token)
        },
        "OFFER_REDEEMED/INITIAL_BUY": TriggerScenario(.first) { state throws(SimulationError) in
            try state.life.subscribeByOfferBefore2024(to: state.plan, appAccountToken: state.token)
        },
        "OFFER_REDEEMED/RESUBSCRIBE": returning { state throws(SimulationError) in
            try state.life.subscribeByOfferBefore2024(to: state.plan, appAccountToken: state.token)
        },
        "ONE_TIME_CHARGE": TriggerScenario(.first) { state throws(SimulationError) in try state.buyOnce() },
        "DID_RENEW": TriggerScenario(.later) { state throws(SimulationError) in
            try state.subscribe(endingIn: ScenarioState.end)
            state.advanceToNow()
            return try state.life.renew()
        },
        "DID_RENEW/BILLING_RECOVERY": TriggerScenario(.later) { state throws(SimulationError) in
            try state.subscribe(endingIn: .zero - .seconds(3 * 86_400))
            try state.prepare { state throws(SimulationError) in try state.life.failToRenew(withGracePeriod: false) }
            state.advanceToNow()
            return try state.life.recoverBilling()
        },
    ]

    static let changes: [String: TriggerScenario] = [
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED": running { state throws(SimulationError) in try state.life.turnAutoRenewOff() },
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED": prepared({ state throws(SimulationError) in try state.life.turnAutoRenewOff() }) {
            state throws(SimulationError) in
            try state.life.turnAutoRenewOn()
        },
        "DID_CHANGE_RENEWAL_STATUS": running { state throws(SimulationError) in try state.life.turnAutoRenewOff(namingSubtype: false) },
        "DID_CHANGE_RENEWAL_PREF/UPGRADE": upgrading { state throws(SimulationError) in
            try state.life.changePlan(to: state.plan, appAccountToken: state.token)
        },
        "DID_CHANGE_RENEWAL_PREF/DOWNGRADE": running { state throws(SimulationError) in try state.life.changePlan(to: state.lesserPlan) },
        "DID_CHANGE_RENEWAL_PREF": prepared({ state throws(SimulationError) in try state.life.changePlan(to: state.lesserPlan) }) {
            state throws(SimulationError) in
            try state.life.keepPlan()
        },
        "OFFER_REDEEMED": running { state throws(SimulationError) in try state.life.redeem(.codeForThreeMonths) },
        "OFFER_REDEEMED/UPGRADE": upgrading { state throws(SimulationError) in
            try state.life.redeem(.codeForThreeMonths, for: state.plan, appAccountToken: state.token)
        },
        "OFFER_REDEEMED/DOWNGRADE": running { state throws(SimulationError) in
            try state.life.redeem(.codeForThreeMonths, for: state.lesserPlan)
        },
        "PRICE_INCREASE/PENDING": running { state throws(SimulationError) in try state.life.increasePrice(to: state.plan.price + 2000) },
        "PRICE_INCREASE/ACCEPTED": running { state throws(SimulationError) in
            try state.life.increasePrice(to: state.plan.price + 2000, needsConsent: false)
        },
        "RENEWAL_EXTENDED": running { state throws(SimulationError) in try state.life.extendRenewal(byDays: 14) },
        "RENEWAL_EXTENSION/FAILURE": running { state throws(SimulationError) in try state.life.failToExtendRenewal() },
        "MIGRATION": running { state throws(SimulationError) in try state.life.migrate() },
        "METADATA_UPDATE": prepared({ state throws(SimulationError) in try state.life.migrate() }) { state throws(SimulationError) in
            try state.life.updateMetadata(displayName: "Simulated plan, renamed")
        },
        "PRICE_CHANGE": prepared({ state throws(SimulationError) in try state.life.migrate() }) { state throws(SimulationError) in
            try state.life.changePrice(to: state.plan.price + 2000)
        },
    ]

    static let endings: [String: TriggerScenario] = [
        "DID_FAIL_TO_RENEW": ended(.seconds(600)) { state throws(SimulationError) in try state.life.failToRenew(withGracePeriod: false) },
        "DID_FAIL_TO_RENEW/GRACE_PERIOD": ended(.seconds(600)) { state throws(SimulationError) in
            try state.life.failToRenew(withGracePeriod: true)
        },
        "GRACE_PERIOD_EXPIRED": ended(
            day * 17,
            before: { state throws(SimulationError) in try state.life.failToRenew(withGracePeriod: true) }
        ) {
            state throws(SimulationError) in try state.life.endGracePeriod()
        },
        "EXPIRED/VOLUNTARY": ended(.seconds(3600), before: { state throws(SimulationError) in try state.life.turnAutoRenewOff() }) {
            state throws(SimulationError) in try state.life.expire(.voluntary)
        },
        "EXPIRED/BILLING_RETRY": ended(
            day * 61,
            before: { state throws(SimulationError) in try state.life.failToRenew(withGracePeriod: false) }
        ) {
            state throws(SimulationError) in try state.life.expire(.billingRetry)
        },
        "EXPIRED/PRICE_INCREASE": ended(
            .seconds(3600),
            before: { state throws(SimulationError) in try state.life.increasePrice(to: 1_000_000) }
        ) {
            state throws(SimulationError) in try state.life.expire(.priceIncrease)
        },
        "EXPIRED/PRODUCT_NOT_FOR_SALE": ended(.seconds(3600)) { state throws(SimulationError) in try state.life.expire(.productNotForSale)
        },
        "EXPIRED": ended(.seconds(3600)) { state throws(SimulationError) in try state.life.expire(.unnamed) },
        "REFUND": bought { state throws(SimulationError) in try state.life.refund() },
        "REFUND_REVERSED": bought(before: { state throws(SimulationError) in try state.life.refund() }) { state throws(SimulationError) in
            try state.life.reverseRefund()
        },
        "REFUND_DECLINED": bought { state throws(SimulationError) in try state.life.declineRefund() },
        "CONSUMPTION_REQUEST": bought { state throws(SimulationError) in try state.life.requestConsumption() },
        "REVOKE": bought(isFamily: true) { state throws(SimulationError) in try state.life.revoke() },
    ]

    static let notices: [String: TriggerScenario] = [
        "TEST": TriggerScenario(.none) { state throws(SimulationError) in state.store.test() },
        "RENEWAL_EXTENSION/SUMMARY": TriggerScenario(.none) { state throws(SimulationError) in state.store.extensionSummary(of: state.plan)
        },
        "RESCIND_CONSENT": TriggerScenario(.none) { state throws(SimulationError) in state.life.rescindConsent() },
        "EXTERNAL_PURCHASE_TOKEN/UNREPORTED": token(.unreported),
        "EXTERNAL_PURCHASE_TOKEN/CREATED": token(.created),
        "EXTERNAL_PURCHASE_TOKEN/ACTIVE_TOKEN_REMINDER": token(.activeTokenReminder),
    ]

    private static func token(_ subtype: Subtype) -> TriggerScenario {
        TriggerScenario(.none) { state throws(SimulationError) in state.store.externalPurchaseToken(subtype) }
    }

    /// A customer whose subscription ended two weeks ago.
    private static func returning(_ event: @escaping Event) -> TriggerScenario {
        TriggerScenario(.later) { state throws(SimulationError) in
            try state.subscribe(endingIn: .zero - day * 14)
            try state.prepare { state throws(SimulationError) in try state.life.turnAutoRenewOff() }
            try state.prepare { state throws(SimulationError) in try state.life.expire(.voluntary) }
            state.advanceToNow()
            return try event(&state)
        }
    }

    private static func upgrading(_ event: @escaping Event) -> TriggerScenario {
        TriggerScenario(.later) { state throws(SimulationError) in
            try state.subscribe(to: state.lesserPlan, endingIn: day * 20)
            state.advanceToNow()
            return try event(&state)
        }
    }

    /// An event during an active subscription, after another event.
    private static func prepared(_ preparation: @escaping Event, _ event: @escaping Event) -> TriggerScenario {
        TriggerScenario(.any) { state throws(SimulationError) in
            try state.subscribe(endingIn: day * 20)
            try state.prepare(preparation)
            state.advanceToNow()
            return try event(&state)
        }
    }
}
