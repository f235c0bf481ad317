import AppStoreVerification
import Outbox
import ServerAPI

/// The settings for Apple's App Store Server API.
struct ServerAPISettings: Sendable {
    let keys: APIKeys
    let hosts: ServerAPIHosts
    /// The part of Apple's documented limits that is used.
    let share: Double
    /// Of each app and environment.
    let importRequests: Int

    /// - Throws: ``SettingsError`` with the first thing that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        let environments = try reader.required(Settings.environments)
        let lanes = try reader.required(Settings.apps).flatMap { app in environments.map { CallLane(app.bundleID, $0) } }
        keys = APIKeys(try reader.apiKeys()?.keys ?? [], issuers: try reader.required(Settings.apiIssuers), lanes: Set(lanes))
        hosts = try Self.hosts(reader)
        share = Double(try reader.required(Settings.apiBudget)) / 100
        importRequests = try reader.required(Settings.apiImportRequests)
    }

    static func hosts(_ reader: SettingsReader) throws(SettingsError) -> ServerAPIHosts {
        var hosts = ServerAPIHosts()
        hosts.production = try reader.required(Settings.apiProductionURL)
        hosts.sandbox = try reader.required(Settings.apiSandboxURL)
        return hosts
    }
}
