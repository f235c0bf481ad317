import AppStore
import EndToEndTesting
import Foundation
import StoreSimulator
import StoreSimulatorServer
import Testing

/// A simulated App Store over TLS, with one customer who has renewed twice, and the settings with which the program asks it.
struct AppleStore {
    static let bundleID = "com.example.tides"

    let server: StoreServerAPI
    let life: CustomerLife
    /// Of a worker, or of `doctor`.
    let settings: [String: String]

    var originalTransactionID: String { life.subscription?.originalTransactionID ?? "" }
    /// The order number on the receipt of the latest charge.
    var order: String { life.subscription?.transactions.last.map { SimulatedServerAPI.orderID(of: $0) } ?? "" }

    /// Adds a customer of Sandbox who has subscribed.
    func sandboxSubscriber() throws -> CustomerLife {
        let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        let app = SimulatedApp(bundleID: Self.bundleID, environment: .sandbox)
        var customers = SimulatedStore(app: app, seed: 8, now: now)
        var life = customers.makeCustomer()
        _ = try life.subscribe()
        let held = life
        server.access { $0.hold(held, at: now) }
        return life
    }

    /// - Parameter url: where notifications are posted to.
    static func with(
        _ installation: Installation,
        url: String? = nil,
        _ body: (AppleStore) async throws -> Void
    ) async throws {
        let now: @Sendable () -> Timestamp = { Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)) }
        let shop = try Shop(bundleID: bundleID)
        var customers = SimulatedStore(app: shop.app, seed: 7, now: now().advanced(by: .seconds(-75 * 86_400)))
        var life = customers.makeCustomer()
        _ = try life.subscribe(to: customers.catalogue.plans[0])
        while let subscription = life.subscription, subscription.expiresDate < now() { _ = try life.renew() }
        let key = try ServerAPIKey.generate(seed: 7)
        let keys = installation.folder.appending(path: "api-keys").path
        try key.write(to: keys)
        let identity = try SimulatedHostIdentity.generate(around: now())
        let root = installation.folder.appending(path: "host.pem").path
        try Data(identity.rootPEM.utf8).write(to: URL(filePath: root))
        var app = SimulatedServerAPI.App(bundleID: bundleID, appAppleID: shop.app.appAppleID, issuer: key.issuer)
        app.addresses = url.map { [.production: .url($0), .sandbox: .url($0)] } ?? [:]
        var api = SimulatedServerAPI(apps: [app], keys: [key], signer: shop.signer, seed: 7)
        api.options.pageSize = 1
        api.hold(life, at: now())
        var configuration = StoreServerAPI.Configuration(now: now)
        configuration.identity = identity
        let (held, rootPath) = (life, try installation.rootPath(of: shop))
        try await StoreServerAPI.with(api, configuration) { server in
            let settings = [
                "APPSTORE_INBOX_APPS": bundleID, "APPSTORE_INBOX_EXTRA_ROOTS": "\(rootPath):Production+Sandbox",
                "APPSTORE_INBOX_API_KEYS_DIRECTORY": keys, "APPSTORE_INBOX_OUTBOUND_ROOTS": root,
                "APPSTORE_INBOX_API_PRODUCTION_URL": try #require(server.address(of: .production)),
                "APPSTORE_INBOX_API_SANDBOX_URL": try #require(server.address(of: .sandbox)),
            ]
            try await body(AppleStore(server: server, life: held, settings: settings))
        }
    }
}
