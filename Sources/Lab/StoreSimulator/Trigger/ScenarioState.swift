import AppStore
import FoundationEssentials

/// The store and the customer of a scenario. The customer's life begins early enough for its last event to happen now.
///
/// Periods last thirty days, because a period of a calendar month cannot end on every date, such as the 31st of March.
struct ScenarioState {
    static let period = Duration.seconds(30 * 86_400)
    /// Of ``subscribe(to:endingIn:isFamily:)``: just before the end of a period.
    static let end = Duration.seconds(1)

    private let trigger: NotificationTrigger
    var store: SimulatedStore
    var life: CustomerLife

    init(_ trigger: NotificationTrigger) {
        self.trigger = trigger
        store = SimulatedStore(app: trigger.app, seed: trigger.seed, now: trigger.now)
        life = store.makeCustomer()
    }

    /// The plan that the notification is about: that of the existing contract, unless the options name one.
    var plan: SimulatedProduct {
        plan(trigger.productID ?? current?.id ?? "\(trigger.app.bundleID).plus.monthly", price: price, level: 2)
    }

    /// A plan of a lower level.
    var lesserPlan: SimulatedProduct { plan("\(trigger.app.bundleID).basic.monthly", price: price / 2, level: 3) }

    /// The product of the existing contract.
    private var current: SimulatedProduct? { trigger.contract?.transaction.product }

    private var price: Int64 { trigger.price ?? current?.price ?? 9990 }

    private func plan(_ id: String, price: Int64, level: Int) -> SimulatedProduct {
        var plan = SimulatedProduct.subscription(id, every: current?.period ?? .days(30), price: price, level: level)
        if let current { plan.subscriptionGroupID = current.subscriptionGroupID }
        return plan
    }

    var token: UUID? { trigger.appAccountToken }

    /// Sets the clock back by `time` and starts over with a new customer.
    mutating func begin(_ time: Duration) {
        store.now = trigger.now.advanced(by: .zero - time)
        life = store.makeCustomer()
    }

    /// Advances the clock to the time of the notification.
    mutating func advanceToNow() {
        life.advance(to: trigger.now)
    }

    /// Subscribes, so that the period ends `time` from now; in the past if `time` is negative. The clock stays at the purchase.
    ///
    /// If the options name a transaction that is not the contract's first, another period precedes it. An existing contract keeps its
    /// period, unless the period has to end: then it ends by that time.
    mutating func subscribe(
        to product: SimulatedProduct? = nil,
        endingIn time: Duration,
        isFamily: Bool = false,
        terms: PurchaseTerms = PurchaseTerms(),
        seat: SeatAssignment? = nil
    ) throws(SimulationError) {
        if var contract = trigger.contract {
            if time <= Self.end { contract.endPeriod(by: trigger.now.advanced(by: time).floored) }
            contract.transaction.product.level = (product ?? plan).level
            return resume(contract)
        }
        let isRenewed =
            trigger.originalTransactionID != nil && trigger.transactionID != nil && trigger.transactionID != trigger.originalTransactionID
        begin((isRenewed ? Self.period + Self.period : Self.period) - time)
        if isFamily { life = store.makeFamilyMember(of: life) }
        if let seat { try life.takeSeat(seat) }
        _ = try life.subscribe(to: product ?? plan, appAccountToken: isFamily || seat != nil ? nil : token, terms: terms)
        if isRenewed { _ = try life.renew() }
    }

    /// Makes the purchase that a refund is about.
    mutating func purchase(isFamily: Bool = false) throws(SimulationError) {
        if let contract = trigger.contract { return resume(contract) }
        guard let type = trigger.productType, type != .autoRenewableSubscription else {
            return try subscribe(endingIn: .seconds(20 * 86_400), isFamily: isFamily)
        }
        begin(.seconds(10 * 86_400))
        if isFamily { life = store.makeFamilyMember(of: life) }
        _ = try buyOnce()
    }

    /// Runs what leads to the state that the event needs. An existing contract may be in that state already; if it is in another one, the
    /// event says why it is impossible.
    mutating func prepare(_ step: TriggerScenario.Event) throws(SimulationError) {
        do throws(SimulationError) {
            _ = try step(&self)
        } catch {
            guard trigger.contract != nil, error.code == .impossibleEvent else { throw error }
        }
    }

    private mutating func resume(_ contract: ExistingContract) {
        begin(.zero)
        life.adopt(contract)
    }

    /// Buys a one-time product.
    mutating func buyOnce() throws(SimulationError) -> SimulatedNotification {
        let type = trigger.productType ?? .consumable
        let product = SimulatedProduct.oneTime(trigger.productID ?? "\(trigger.app.bundleID).coins.100", type, price: trigger.price ?? 990)
        return try life.buy(product, appAccountToken: token)
    }
}
