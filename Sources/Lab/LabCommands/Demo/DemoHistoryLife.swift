import AppStore
import FoundationEssentials
import StoreSimulator

/// The customers of `deploy/demo --history`, whose shop was down for a day, until half an hour ago.
///
/// Anna subscribed and renewed before; during that day she unsubscribed. Ben subscribed during that day. Clara bought coins before, and asked
/// Apple for a refund during that day. Dora's subscription was refunded. Erik's purchase was taken by a server that is not the shop's.
struct DemoHistoryLife {
    /// A notification, the name of its file, and what became of it.
    struct Step {
        let name: String
        let notification: SimulatedNotification
        let fate: PushFate
    }

    static let coins = SimulatedProduct.oneTime("coins.100", .consumable)

    private(set) var steps: [Step] = []
    private(set) var customers: [CustomerLife] = []

    /// - Parameter orders: of Anna, Ben, Clara and Dora.
    init(orders: [UUID], now: Timestamp) throws {
        func ago(hours: Double) -> Timestamp { now.advanced(by: .milliseconds(Int64(-hours * 3_600_000))) }
        let catalogue = SimulatedCatalogue(plans: [DemoLife.product], oneTimeProducts: [Self.coins])
        var store = SimulatedStore(app: DemoLife.app, catalogue: catalogue, seed: .random(in: 0 ... .max), now: ago(hours: 24 * 35))
        var (anna, ben, clara) = (store.makeCustomer(), store.makeCustomer(), store.makeCustomer())
        var (dora, erik) = (store.makeCustomer(), store.makeCustomer())

        add("anna-subscribed", try anna.subscribe(appAccountToken: orders[0]), .delivered)
        add("anna-renewed", try anna.renew(), .delivered)
        dora.advance(to: ago(hours: 24 * 9))
        add("dora-subscribed", try dora.subscribe(appAccountToken: orders[3]), .delivered)
        clara.advance(to: ago(hours: 50))
        add("clara-bought-coins", try clara.buy(Self.coins, appAccountToken: orders[2]), .delivered)

        anna.advance(to: ago(hours: 20))
        add("anna-unsubscribed", try anna.turnAutoRenewOff(), .givenUp)
        ben.advance(to: ago(hours: 18))
        add("ben-subscribed", try ben.subscribe(appAccountToken: orders[1]), .givenUp)
        dora.advance(to: ago(hours: 12))
        add("dora-refunded", try dora.refund(), .givenUp)
        erik.advance(to: ago(hours: 5))
        add("erik-subscribed", try erik.subscribe(), .takenElsewhere)
        clara.advance(to: ago(hours: 3))
        add("clara-wants-a-refund", try clara.requestConsumption(), .givenUp)
        customers = [anna, ben, clara, dora, erik]
    }

    private mutating func add(_ name: String, _ notification: SimulatedNotification, _ fate: PushFate) {
        steps.append(Step(name: name, notification: notification, fate: fate))
    }
}
