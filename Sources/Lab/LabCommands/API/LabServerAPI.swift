import AppStore
import Commands
import Foundation
import StoreSimulator
import StoreSimulatorServer

/// A simulated App Store Server API of the lab: one app, one key, and a folder with what a worker needs to ask it.
struct LabServerAPI {
    /// Signs what the store sends.
    let signer: NotificationSigner
    var api: SimulatedServerAPI
    private var configuration: StoreServerAPI.Configuration

    /// Writes the key and the certificates into the folder, which is created if it is missing.
    ///
    /// - Parameter url: where tests and extended renewals are posted to.
    init(_ app: SimulatedApp, folder: String, url: String? = nil, seed: UInt64) throws {
        let now = Self.now()
        signer = NotificationSigner(authority: try AuthorityFolder(folder).open(now: now))
        let key = try ServerAPIKey.generate(seed: seed)
        try key.write(to: "\(folder)/api-keys")
        var known = SimulatedServerAPI.App(bundleID: app.bundleID, appAppleID: app.appAppleID, issuer: key.issuer)
        known.addresses = url.map { [.production: .url($0), .sandbox: .url($0)] } ?? [:]
        api = SimulatedServerAPI(apps: [known], keys: [key], signer: signer, seed: seed)
        let identity = try SimulatedHostIdentity.generate(around: now)
        configuration = StoreServerAPI.Configuration(now: Self.now)
        configuration.identity = identity
        try Data(identity.rootPEM.utf8).write(to: URL(filePath: "\(folder)/host.pem"))
    }

    /// Prints the addresses, and then a line for each request, until the process is ended.
    func serve(productionPort: Int = 0, sandboxPort: Int = 0) async throws {
        var configuration = configuration
        configuration.ports = [.production: productionPort, .sandbox: sandboxPort]
        let server = try await StoreServerAPI.start(api, configuration)
        StandardOutput.write("Production \(server.address(of: .production) ?? "")\nSandbox    \(server.address(of: .sandbox) ?? "")\n")
        for await event in server.events {
            if case .answered(let call) = event {
                StandardOutput.write("\(call.status)  \(call.endpoint?.rawValue ?? "-")  \(call.environment.rawValue)\n")
            }
        }
    }

    @Sendable static func now() -> Timestamp {
        Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
