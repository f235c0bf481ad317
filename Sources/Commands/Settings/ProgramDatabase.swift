import FoundationEssentials
import Logging
package import Postgres

/// The database of an installation, for commands of `appstore-inbox-lab`.
package enum ProgramDatabase {
    /// Connects to the database of a connection string, or else to the one that the settings in the environment name.
    ///
    /// - Throws: ``SettingsError`` when neither names one.
    package static func open(_ url: String?, command: String) async throws -> Connection {
        let flags = url.map { [Settings.databaseURL.description.name: $0] } ?? [:]
        let reader = try SettingsReader(flags: flags, environment: ProcessInfo.processInfo.environment)
        let options = try ConnectionOptions(DatabaseSettings(reader), command: command, role: "appstore_worker")
        return try await Connection.open(options, logger: try Logger.service(command, reader))
    }
}
