import AppStore

private let day = Duration.seconds(86_400)

extension TriggerScene {
    static let beginnings: [String: TriggerScene] = [
        "SUBSCRIBED/INITIAL_BUY": TriggerScene(.first) { stage throws(SimulationError) in
            try stage.life.subscribe(to: stage.plan, appAccountToken: stage.token)
        },
        "SUBSCRIBED/RESUBSCRIBE": returning { stage throws(SimulationError) in
            try stage.life.subscribe(to: stage.plan, appAccountToken: stage.token)
        },
        "OFFER_REDEEMED/INITIAL_BUY": TriggerScene(.first) { stage throws(SimulationError) in
            try stage.life.subscribeByOfferBefore2024(to: stage.plan, appAccountToken: stage.token)
        },
        "OFFER_REDEEMED/RESUBSCRIBE": returning { stage throws(SimulationError) in
            try stage.life.subscribeByOfferBefore2024(to: stage.plan, appAccountToken: stage.token)
        },
        "ONE_TIME_CHARGE": TriggerScene(.first) { stage throws(SimulationError) in try stage.buyOnce() },
        "DID_RENEW": TriggerScene(.later) { stage throws(SimulationError) in
            try stage.subscribe(endingIn: .seconds(3600))
            stage.cutToNow()
            return try stage.life.renew()
        },
        "DID_RENEW/BILLING_RECOVERY": TriggerScene(.later) { stage throws(SimulationError) in
            try stage.subscribe(endingIn: .zero - .seconds(3 * 86_400))
            _ = try stage.life.failToRenew(withGracePeriod: false)
            stage.cutToNow()
            return try stage.life.recoverBilling()
        },
    ]

    static let changes: [String: TriggerScene] = [
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED": running { stage throws(SimulationError) in try stage.life.turnAutoRenewOff() },
        "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED": prepared({ stage throws(SimulationError) in try stage.life.turnAutoRenewOff() }) {
            stage throws(SimulationError) in
            try stage.life.turnAutoRenewOn()
        },
        "DID_CHANGE_RENEWAL_STATUS": running { stage throws(SimulationError) in try stage.life.turnAutoRenewOff(namingSubtype: false) },
        "DID_CHANGE_RENEWAL_PREF/UPGRADE": upgrading { stage throws(SimulationError) in
            try stage.life.changePlan(to: stage.plan, appAccountToken: stage.token)
        },
        "DID_CHANGE_RENEWAL_PREF/DOWNGRADE": running { stage throws(SimulationError) in try stage.life.changePlan(to: stage.lesserPlan) },
        "DID_CHANGE_RENEWAL_PREF": prepared({ stage throws(SimulationError) in try stage.life.changePlan(to: stage.lesserPlan) }) {
            stage throws(SimulationError) in
            try stage.life.keepPlan()
        },
        "OFFER_REDEEMED": running { stage throws(SimulationError) in try stage.life.redeem(.codeForThreeMonths) },
        "OFFER_REDEEMED/UPGRADE": upgrading { stage throws(SimulationError) in
            try stage.life.redeem(.codeForThreeMonths, for: stage.plan, appAccountToken: stage.token)
        },
        "OFFER_REDEEMED/DOWNGRADE": running { stage throws(SimulationError) in
            try stage.life.redeem(.codeForThreeMonths, for: stage.lesserPlan)
        },
        "PRICE_INCREASE/PENDING": running { stage throws(SimulationError) in try stage.life.increasePrice(to: stage.plan.price + 2000) },
        "PRICE_INCREASE/ACCEPTED": running { stage throws(SimulationError) in
            try stage.life.increasePrice(to: stage.plan.price + 2000, needsConsent: false)
        },
        "RENEWAL_EXTENDED": running { stage throws(SimulationError) in try stage.life.extendRenewal(byDays: 14) },
        "RENEWAL_EXTENSION/FAILURE": running { stage throws(SimulationError) in try stage.life.failToExtendRenewal() },
        "MIGRATION": running { stage throws(SimulationError) in try stage.life.migrate() },
        "METADATA_UPDATE": prepared({ stage throws(SimulationError) in try stage.life.migrate() }) { stage throws(SimulationError) in
            try stage.life.updateMetadata(displayName: "Simulated plan, renamed")
        },
        "PRICE_CHANGE": prepared({ stage throws(SimulationError) in try stage.life.migrate() }) { stage throws(SimulationError) in
            try stage.life.changePrice(to: stage.plan.price + 2000)
        },
    ]

    static let endings: [String: TriggerScene] = [
        "DID_FAIL_TO_RENEW": ended(.seconds(600)) { stage throws(SimulationError) in try stage.life.failToRenew(withGracePeriod: false) },
        "DID_FAIL_TO_RENEW/GRACE_PERIOD": ended(.seconds(600)) { stage throws(SimulationError) in
            try stage.life.failToRenew(withGracePeriod: true)
        },
        "GRACE_PERIOD_EXPIRED": ended(day * 17, before: { life throws(SimulationError) in try life.failToRenew(withGracePeriod: true) }) {
            stage throws(SimulationError) in try stage.life.endGracePeriod()
        },
        "EXPIRED/VOLUNTARY": ended(.seconds(3600), before: { life throws(SimulationError) in try life.turnAutoRenewOff() }) {
            stage throws(SimulationError) in try stage.life.expire(.voluntary)
        },
        "EXPIRED/BILLING_RETRY": ended(day * 61, before: { life throws(SimulationError) in try life.failToRenew(withGracePeriod: false) }) {
            stage throws(SimulationError) in try stage.life.expire(.billingRetry)
        },
        "EXPIRED/PRICE_INCREASE": ended(.seconds(3600), before: { life throws(SimulationError) in try life.increasePrice(to: 1_000_000) }) {
            stage throws(SimulationError) in try stage.life.expire(.priceIncrease)
        },
        "EXPIRED/PRODUCT_NOT_FOR_SALE": ended(.seconds(3600)) { stage throws(SimulationError) in try stage.life.expire(.productNotForSale)
        },
        "EXPIRED": ended(.seconds(3600)) { stage throws(SimulationError) in try stage.life.expire(.unnamed) },
        "REFUND": bought { stage throws(SimulationError) in try stage.life.refund() },
        "REFUND_REVERSED": bought(before: { life throws(SimulationError) in try life.refund() }) { stage throws(SimulationError) in
            try stage.life.reverseRefund()
        },
        "REFUND_DECLINED": bought { stage throws(SimulationError) in try stage.life.declineRefund() },
        "CONSUMPTION_REQUEST": bought { stage throws(SimulationError) in try stage.life.requestConsumption() },
        "REVOKE": bought(isFamily: true) { stage throws(SimulationError) in try stage.life.revoke() },
    ]

    static let notices: [String: TriggerScene] = [
        "TEST": TriggerScene(.none) { stage throws(SimulationError) in stage.store.test() },
        "RENEWAL_EXTENSION/SUMMARY": TriggerScene(.none) { stage throws(SimulationError) in stage.store.extensionSummary(of: stage.plan) },
        "RESCIND_CONSENT": TriggerScene(.none) { stage throws(SimulationError) in stage.life.rescindConsent() },
        "EXTERNAL_PURCHASE_TOKEN/UNREPORTED": token(.unreported),
        "EXTERNAL_PURCHASE_TOKEN/CREATED": token(.created),
        "EXTERNAL_PURCHASE_TOKEN/ACTIVE_TOKEN_REMINDER": token(.activeTokenReminder),
    ]

    private static func token(_ subtype: Subtype) -> TriggerScene {
        TriggerScene(.none) { stage throws(SimulationError) in stage.store.externalPurchaseToken(subtype) }
    }

    /// A customer whose subscription ended two weeks ago.
    private static func returning(_ event: @escaping Play) -> TriggerScene {
        TriggerScene(.later) { stage throws(SimulationError) in
            stage.begin(TriggerStage.period + day * 14)
            _ = try stage.life.subscribe(to: stage.plan)
            _ = try stage.life.turnAutoRenewOff()
            _ = try stage.life.expire(.voluntary)
            stage.cutToNow()
            return try event(&stage)
        }
    }

    private static func upgrading(_ event: @escaping Play) -> TriggerScene {
        TriggerScene(.later) { stage throws(SimulationError) in
            try stage.subscribe(to: stage.lesserPlan, endingIn: day * 20)
            stage.cutToNow()
            return try event(&stage)
        }
    }

    /// An event in the midst of a running subscription that something has come before.
    private static func prepared(_ preparation: @escaping Play, _ event: @escaping Play) -> TriggerScene {
        TriggerScene(.any) { stage throws(SimulationError) in
            try stage.subscribe(endingIn: day * 20)
            _ = try preparation(&stage)
            stage.cutToNow()
            return try event(&stage)
        }
    }
}
