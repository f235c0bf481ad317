import AppStore
import FoundationEssentials
import StoreSimulator

/// The customer of `deploy/demo`: a purchase, two renewals, an unsubscription and a refund, and a forged notification.
struct DemoLife {
    /// A notification and the name of its file.
    struct Step {
        let name: String
        let notification: SignedNotification
    }

    static let app = SimulatedApp(bundleID: "com.example.shop", appAppleID: 1_234_567_890)
    static let product = SimulatedProduct.subscription("pro.monthly")

    /// The steps in the order of time; the first is about ten weeks before `now`.
    ///
    /// - Parameter order: the number of the order that the purchase pays.
    static func steps(order: UUID, signer: NotificationSigner, seed: UInt64, now: Timestamp) throws -> [Step] {
        let catalogue = SimulatedCatalogue(plans: [product], oneTimeProducts: [])
        var store = SimulatedStore(app: app, catalogue: catalogue, seed: seed, now: now.advanced(by: .seconds(-70 * 86_400)))
        var life = store.makeCustomer()
        var steps: [Step] = []
        func add(_ name: String, _ notification: SimulatedNotification) throws {
            steps.append(Step(name: name, notification: try signer.sign(notification)))
        }
        try add("subscribed", life.subscribe(appAccountToken: order))
        try add("renewed", life.renew())
        let second = try life.renew()
        try add("renewed-again", second)
        life.advance(to: now.advanced(by: .seconds(-2 * 86_400)))
        try add("unsubscribed", life.turnAutoRenewOff())
        life.advance(to: now.advanced(by: .seconds(-86_400)))
        try add("refunded", life.refund())
        steps.append(Step(name: "forged", notification: try signer.forge(second, .payloadAltered)))
        return steps
    }
}
