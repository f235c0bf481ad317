import FoundationEssentials
package import Postgres
import Schema

/// The database of an installation, for commands of `appstore-inbox-lab`.
package enum ProgramDatabase {
    /// Connects as a worker to the database of a connection string, or else to the one that the settings in the environment name.
    ///
    /// - Throws: ``SettingsError`` when neither names one, or a ``SchemaError`` that says what to do where the database cannot be used.
    package static func open(_ url: String?, command: String) async throws -> Connection {
        let flags = url.map { [Settings.databaseURL.description.name: $0] } ?? [:]
        let reader = try SettingsReader(flags: flags, environment: ProcessInfo.processInfo.environment)
        return try await CommandConnection.open(reader, command: command, .worker)
    }
}
