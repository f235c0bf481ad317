import AppStore
import FoundationEssentials
import StoreSimulator

/// Cases that are hard for a ledger: two accounts of the shop on one Apple ID, and a purchase that names no order.
extension DemoLife {
    /// The first account buys, renews and unsubscribes. Ten days after the expiry, the second one buys on the same Apple ID, gets the same
    /// contract, and renews.
    static func twoAccounts(first: UUID, second: UUID, signer: NotificationSigner, seed: UInt64, now: Timestamp) throws -> [Step] {
        var life = customer(seed: seed, bornAt: now.advanced(by: .seconds(-110 * 86_400)))
        var steps: [Step] = []
        func add(_ name: String, _ notification: SimulatedNotification) throws {
            steps.append(Step(name: name, notification: try signer.sign(notification)))
        }
        try add("first-account-bought", life.subscribe(appAccountToken: first))
        try add("first-account-renewed", life.renew())
        _ = try life.turnAutoRenewOff()
        try add("first-account-expired", life.expire(.voluntary))
        life.advance(by: .seconds(10 * 86_400))
        try add("second-account-bought", life.subscribe(appAccountToken: second))
        try add("second-account-renewed", life.renew())
        return steps
    }

    /// A purchase by offer code, without an order of the shop. The transaction is the one that StoreKit gives the app.
    static func offerCode(
        signer: NotificationSigner,
        seed: UInt64,
        now: Timestamp
    ) throws -> (step: Step, transaction: [UInt8]) {
        var life = customer(seed: seed, bornAt: now.advanced(by: .seconds(-3600)))
        let purchase = try life.subscribe(offer: .codeForThreeMonths)
        let transaction = try purchase.transactionID.flatMap(life.transaction).map {
            try signer.sign($0, of: app, signedDate: purchase.signedDate)
        }
        return (Step(name: "offer-code-bought", notification: try signer.sign(purchase)), transaction ?? [])
    }

    private static func customer(seed: UInt64, bornAt birth: Timestamp) -> CustomerLife {
        var store = SimulatedStore(
            app: app,
            catalogue: SimulatedCatalogue(plans: [product], oneTimeProducts: []),
            seed: seed,
            now: birth
        )
        return store.makeCustomer()
    }
}
