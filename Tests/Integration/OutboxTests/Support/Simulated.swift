import AppStore
import StoreSimulator
import StoreSimulatorServer

/// A receipt that the simulated verifyReceipt knows.
enum Simulated {
    static let now = Timestamp(millisecondsSince1970: 1_774_944_000_250)
    static let bundleID = "com.example.app"
    static let secret = "0123456789abcdef0123456789abcdef"
    /// The server knows a receipt by its base64 only.
    static let receiptData = "TUlJIGEgcmVjZWlwdA=="

    static func answer(_ environment: AppStoreEnvironment = .production) throws -> VerifyReceiptAnswer {
        let app = SimulatedApp(bundleID: bundleID, appAppleID: 1_234_567_890, environment: environment)
        var store = SimulatedStore(app: app, seed: 1, now: now)
        var life = store.makeCustomer()
        _ = try life.subscribe()
        let transactions = life.subscription?.transactions ?? []
        let receipt = SimulatedReceipt.receipt(of: app, holding: transactions, madeAt: life.now)
        return VerifyReceiptAnswer(app: app, receipt: receipt, requestDate: now, transactions: transactions)
    }

    /// A store with that receipt in it.
    static func store(
        _ environment: AppStoreEnvironment = .production,
        secrets: Set<String> = [secret],
        steps: [VerifyReceiptScript.Step] = [],
        last: VerifyReceiptScript.Step = .answer
    ) throws -> SimulatedReceiptStore {
        var store = SimulatedReceiptStore(secrets: [bundleID: secrets])
        store.hold(try answer(environment), for: receiptData, script: VerifyReceiptScript(steps, last: last))
        return store
    }

    static func server(
        _ store: SimulatedReceiptStore,
        identity: SimulatedHostIdentity? = nil,
        isOutdated: Bool = false
    ) async throws -> VerifyReceiptServer {
        var configuration = VerifyReceiptServer.Configuration { now }
        configuration.identity = identity
        configuration.isOutdated = isOutdated
        return try await VerifyReceiptServer.start(store, configuration)
    }
}
