import AppStore
import ArgumentParser
import Commands
import Foundation
import Randomness
import StoreSimulator
import StoreSimulatorServer

/// `appstore-inbox-lab api`: a simulated App Store Server API.
struct APICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Serves a simulated App Store Server API over TLS, with customers and the notifications that were sent about them.",
        discussion: """
            Writes into the folder: api-keys/<issuer>/SubscriptionKey_<id>.p8, the key to call it with; root.pem, which its signatures come \
            from; host.pem, which its TLS certificate comes from. Some notifications of the last month were delivered, some failed, and some \
            went to another server. It runs until it is ended.
            """
    )

    @Option(help: "The folder of keys and certificates; created if it is missing.", completion: .directory) var folder: String
    @Option(help: "The bundle identifier of the app.") var bundle = "com.example.app"
    @Option(help: "The app's number in the App Store.") var appAppleID: Int64 = 1_234_567_890
    @Option(help: "The number of customers.") var customers = 20
    @Option(help: "The seed of customers, notifications and identifiers.") var seed: UInt64 = 1
    @Option(help: "The URL that tests and extended renewals are posted to; without it, a test is refused with 4040007.") var url: String?
    @Option(help: "The port of Production; 0 takes a free one.") var productionPort = 0
    @Option(help: "The port of Sandbox; 0 takes a free one.") var sandboxPort = 0

    func run() async throws {
        let now = Self.now()
        let signer = NotificationSigner(authority: try AuthorityFolder(folder).open(now: now))
        let key = try ServerAPIKey.generate(seed: seed)
        try key.write(to: "\(folder)/api-keys")
        var app = SimulatedServerAPI.App(bundleID: bundle, appAppleID: appAppleID, issuer: key.issuer)
        app.addresses = url.map { [.production: .url($0), .sandbox: .url($0)] } ?? [:]
        var api = SimulatedServerAPI(apps: [app], keys: [key], signer: signer, seed: seed)
        try populate(&api, signer, until: now)
        var configuration = StoreServerAPI.Configuration(now: Self.now)
        configuration.identity = try SimulatedHostIdentity.generate(around: now)
        configuration.ports = [.production: productionPort, .sandbox: sandboxPort]
        try Data((configuration.identity?.rootPEM ?? "").utf8).write(to: URL(filePath: "\(folder)/host.pem"))
        let server = try await StoreServerAPI.start(api, configuration)
        StandardOutput.write("Production \(server.address(of: .production) ?? "")\nSandbox    \(server.address(of: .sandbox) ?? "")\n")
        for await event in server.events {
            if case .answered(let call) = event {
                StandardOutput.write("\(call.status)  \(call.endpoint?.rawValue ?? "-")  \(call.environment.rawValue)\n")
            }
        }
    }

    /// Customers that buy and change their minds during the last month, and the notifications about them.
    private func populate(_ api: inout SimulatedServerAPI, _ signer: NotificationSigner, until now: Timestamp) throws {
        let app = SimulatedApp(bundleID: bundle, appAppleID: appAppleID)
        var store = SimulatedStore(app: app, seed: seed, now: now.advanced(by: .seconds(-29 * 86_400)))
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<customers {
            var life = store.makeCustomer()
            while true {
                let before = life
                for notification in try life.live(notifications: 1) where life.now <= now {
                    api.push(try signer.sign(notification), fate: .random(using: &generator))
                }
                guard life.now <= now else {
                    api.hold(before, at: now)
                    break
                }
            }
        }
    }

    @Sendable private static func now() -> Timestamp {
        Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
