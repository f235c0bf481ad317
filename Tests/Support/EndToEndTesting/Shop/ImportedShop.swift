import AppStore
import Foundation
import StoreSimulator
package import StoreSimulatorServer

/// Customers of a shop that no notification was ever sent about, and a store that can be asked.
package struct ImportedShop: Sendable {
    package let shop: Shop
    package let csv: String
    private let key: StoreSimulator.ServerAPIKey
    private let lives: [CustomerLife]
    private let now: Timestamp
    package let customers: Int
    /// How many of them have a token.
    package var tokens: Int { (customers + 1) / 3 }

    /// The most requests of a worker that are in flight: those of both environments.
    package static let inFlight = 8

    /// - Parameter customers: every tenth is one of Sandbox.
    package init(customers: Int) throws {
        var (shop, sandbox) = (try Shop(), try Shop(environment: .sandbox, seed: 2))
        now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        key = try StoreSimulator.ServerAPIKey.generate(seed: 1)
        var lines = ["original_transaction_id,user_id,token", "no id,x,"]
        var lives: [CustomerLife] = []
        for number in 0..<customers {
            var life = number % 10 == 9 ? sandbox.makeCustomer() : shop.makeCustomer()
            // Every third buys with a token that the file says to be the user's.
            let token = number % 3 == 1 ? UUID() : nil
            _ = try life.subscribe(appAccountToken: token)
            for _ in 0..<number % 30 where life.now < now.advanced(by: .seconds(-40 * 86_400)) { _ = try life.renew() }
            if number % 4 == 0 { _ = try life.refund() }
            lines.append("\(life.subscription?.originalTransactionID ?? ""),user \(number),\(token?.uuidString ?? "")")
            lives.append(life)
        }
        csv = (lines + [lines[2], "1999999999999999,unknown,"]).joined(separator: "\n")
        (self.shop, self.lives, self.customers) = (shop, lives, customers)
    }

    /// Runs a body with the store, whose clock stands still: an answer is the same whenever it is asked for.
    package func serve(_ body: (StoreServerAPI, _ settings: [String: String]) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let identity = try SimulatedHostIdentity.generate(around: now)
        let root = folder.appending(path: "host.pem").path
        try Data(identity.rootPEM.utf8).write(to: URL(filePath: root))
        try key.write(to: folder.appending(path: "api-keys").path)
        let app = SimulatedServerAPI.App(bundleID: shop.app.bundleID, issuer: key.issuer)
        var api = SimulatedServerAPI(apps: [app], keys: [key], signer: shop.signer, seed: 1)
        api.options.clockTolerance = .seconds(3600)
        api.options.pageSize = 4
        for life in lives { api.hold(life, at: now) }
        var configuration = StoreServerAPI.Configuration { [now] in now }
        configuration.identity = identity
        try await StoreServerAPI.with(api, configuration) { store in
            try await body(
                store,
                [
                    "APPSTORE_INBOX_API_KEYS_DIRECTORY": folder.appending(path: "api-keys").path,
                    "APPSTORE_INBOX_API_PRODUCTION_URL": store.address(of: .production) ?? "",
                    "APPSTORE_INBOX_API_SANDBOX_URL": store.address(of: .sandbox) ?? "", "APPSTORE_INBOX_API_BUDGET": "100",
                    "APPSTORE_INBOX_API_IMPORT_REQUESTS": "\(Self.inFlight / 2)", "APPSTORE_INBOX_OUTBOUND_ROOTS": root,
                ]
            )
        }
        try FileManager.default.removeItem(at: folder)
    }
}
