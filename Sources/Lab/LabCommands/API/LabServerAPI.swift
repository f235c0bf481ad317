import AppStore
import Commands
import Foundation
import Randomness
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

    /// Adds customers of Sandbox: the members of a group, and a purchaser whose app hosts the invitations to as many seats, all but one of which are
    /// claimed.
    ///
    /// - Returns: their ids, as lines for people.
    mutating func addGroup(of members: Int, _ app: SimulatedApp, seed: UInt64, at now: Timestamp) throws -> String {
        var app = app
        app.environment = .sandbox
        var store = SimulatedStore(app: app, seed: seed &+ 1, now: now.advanced(by: .seconds(-3600)))
        var generator = SeededGenerator(seed: seed)
        let lives = try (0...members).map { _ in
            var life = store.makeCustomer()
            _ = try life.subscribe()
            api.hold(life, at: now)
            return life
        }
        let place = ServerAPIPlace(app.bundleID, app.environment)
        let group = SimulatedServerAPI.ConsumerGroup(id: "910000000000000001", members: lives.dropLast().map(\.appTransactionID))
        api.hold(group, at: place)
        let ids = lives.compactMap { $0.subscription?.originalTransactionID }
        let claims = (1..<members).map { _ in generator.uuid() }
        api.hold(SimulatedServerAPI.Seats(total: members, claims: claims), of: ids[members], at: place)
        return "group      \(group.id) of \(ids.dropLast().joined(separator: " "))\nseats      \(ids[members])\n"
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
