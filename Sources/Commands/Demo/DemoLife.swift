import AppStore
import FoundationEssentials
import StoreSimulator

/// What happens to the customer of `deploy/demo`: a purchase, two renewals, an unsubscription and a refund, and one lie about it.
struct DemoLife {
    /// A notification and the file it goes to.
    struct Chapter {
        let name: String
        let notification: SignedNotification
    }

    static let app = SimulatedApp(bundleID: "com.example.shop", appAppleID: 1_234_567_890)
    static let product = SimulatedProduct.subscription("pro.monthly")

    /// The chapters in the order in which they happened; the first about ten weeks before `now`.
    ///
    /// - Parameter order: the number of the order that the purchase pays.
    static func chapters(order: UUID, signer: NotificationSigner, seed: UInt64, now: Timestamp) throws -> [Chapter] {
        let catalogue = SimulatedCatalogue(plans: [product], oneTimeProducts: [])
        var store = SimulatedStore(app: app, catalogue: catalogue, seed: seed, now: now.advanced(by: .seconds(-70 * 86_400)))
        var life = store.makeCustomer()
        var chapters: [Chapter] = []
        func add(_ name: String, _ notification: SimulatedNotification) throws {
            chapters.append(Chapter(name: name, notification: try signer.sign(notification)))
        }
        try add("subscribed", life.subscribe(appAccountToken: order))
        try add("renewed", life.renew())
        let second = try life.renew()
        try add("renewed-again", second)
        life.advance(to: now.advanced(by: .seconds(-2 * 86_400)))
        try add("unsubscribed", life.turnAutoRenewOff())
        life.advance(to: now.advanced(by: .seconds(-86_400)))
        try add("refunded", life.refund())
        chapters.append(Chapter(name: "forged", notification: try signer.forge(second, .payloadAltered)))
        return chapters
    }
}
