import AppStore
import FoundationEssentials

/// Where a scene is played: a life that began just long enough ago for its last event to happen now.
///
/// Periods last thirty days, not a month: so there is a beginning for every end, also on a 31st of March.
struct TriggerStage {
    static let period = Duration.seconds(30 * 86_400)

    private let trigger: NotificationTrigger
    var store: SimulatedStore
    var life: CustomerLife

    init(_ trigger: NotificationTrigger) {
        self.trigger = trigger
        store = SimulatedStore(app: trigger.app, seed: trigger.seed, now: trigger.now)
        life = store.makeCustomer()
    }

    /// The plan that the notification is about.
    var plan: SimulatedProduct {
        .subscription(
            trigger.productID ?? "\(trigger.app.bundleID).plus.monthly",
            every: .days(30),
            price: trigger.price ?? 9990,
            level: 2
        )
    }

    /// A plan of a lower level.
    var lesserPlan: SimulatedProduct {
        .subscription("\(trigger.app.bundleID).basic.monthly", every: .days(30), price: (trigger.price ?? 9990) / 2, level: 3)
    }

    var token: UUID? { trigger.appAccountToken }

    /// Sets the clock back, before anything has happened.
    mutating func begin(_ time: Duration) {
        store.now = trigger.now.advanced(by: .zero - time)
        life = store.makeCustomer()
    }

    /// Lets the time come at which the notification is sent.
    mutating func cutToNow() {
        life.advance(to: trigger.now)
    }

    /// A customer with a subscription whose period ends in that time, or ended when it is negative; the clock stands at its purchase.
    ///
    /// When the options name a transaction that is not the contract's first, there is a period before it.
    mutating func subscribe(to product: SimulatedProduct? = nil, endingIn time: Duration, isFamily: Bool = false) throws(SimulationError) {
        let isRenewed =
            trigger.originalTransactionID != nil && trigger.transactionID != nil && trigger.transactionID != trigger.originalTransactionID
        begin((isRenewed ? Self.period + Self.period : Self.period) - time)
        if isFamily { life = store.makeFamilyMember(of: life) }
        _ = try life.subscribe(to: product ?? plan, appAccountToken: isFamily ? nil : token)
        if isRenewed { _ = try life.renew() }
    }

    /// A customer who has paid once for what a refund may be about.
    mutating func purchase(isFamily: Bool = false) throws(SimulationError) {
        guard let type = trigger.productType, type != .autoRenewableSubscription else {
            return try subscribe(endingIn: .seconds(20 * 86_400), isFamily: isFamily)
        }
        begin(.seconds(10 * 86_400))
        if isFamily { life = store.makeFamilyMember(of: life) }
        _ = try buyOnce()
    }

    /// The purchase of a product without periods.
    mutating func buyOnce() throws(SimulationError) -> SimulatedNotification {
        let type = trigger.productType ?? .consumable
        let product = SimulatedProduct.oneTime(trigger.productID ?? "\(trigger.app.bundleID).coins.100", type, price: trigger.price ?? 990)
        return try life.buy(product, appAccountToken: token)
    }
}
