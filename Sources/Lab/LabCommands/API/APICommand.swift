import AppStore
import ArgumentParser
import Commands
import Randomness
import StoreSimulator

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
    @Option(help: "A group of seats in Sandbox with this number of members, and seats of another purchaser; their ids are printed.")
    var groupMembers = 0
    @Option(help: "The seed of customers, notifications and identifiers.") var seed: UInt64 = 1
    @Option(help: "The URL that tests and extended renewals are posted to; without it, a test is refused with 4040007.") var url: String?
    @Option(help: "The port of Production; 0 takes a free one.") var productionPort = 0
    @Option(help: "The port of Sandbox; 0 takes a free one.") var sandboxPort = 0

    func validate() throws {
        if !(0...1000).contains(groupMembers) { throw ValidationError("--group-members must be from 0 to 1000, not \(groupMembers)") }
    }

    func run() async throws {
        let app = SimulatedApp(bundleID: bundle, appAppleID: appAppleID)
        var store = try LabServerAPI(app, folder: folder, url: url, seed: seed)
        let now = LabServerAPI.now()
        var customers = SimulatedStore(app: app, seed: seed, now: now.advanced(by: .seconds(-29 * 86_400)))
        var generator = SeededGenerator(seed: seed)
        _ = try store.api.populate(self.customers, in: &customers, until: now, using: &generator)
        if groupMembers > 0 { StandardOutput.write(try store.addGroup(of: groupMembers, app, seed: seed, at: now)) }
        try await store.serve(productionPort: productionPort, sandboxPort: sandboxPort)
    }
}
