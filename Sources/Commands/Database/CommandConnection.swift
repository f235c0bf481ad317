import FoundationEssentials
import Logging
package import Postgres
import SQL
import Schema

/// How an operator's command connects.
enum CommandConnection {
    /// Opens a connection to a database with the schema that this program knows, as the role that the command is made for.
    ///
    /// - Parameter deadline: how long a statement may take; nil for the usual time.
    /// - Throws: ``SettingsError``, or a ``SchemaError`` that says what to do where the database cannot be used.
    static func open(
        _ reader: SettingsReader,
        command: String,
        _ expected: SchemaExpectation,
        deadline: Duration? = nil
    ) async throws -> Connection {
        try reader.requireValid(Settings.database + Settings.log)
        var options = try ConnectionOptions(DatabaseSettings(reader), command: command, role: expected.role)
        if let deadline { options.statementDeadline = deadline }
        let connection = try await Connection.open(options, logger: try Logger.service(command, reader))
        do {
            _ = try await SchemaFinding(expected, connection)
            return connection
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Calls `body` with a connection of its own, which ``open(_:command:_:deadline:)`` opens.
    static func with<Value>(
        _ reader: SettingsReader,
        command: String,
        _ expected: SchemaExpectation,
        deadline: Duration? = nil,
        _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        try await open(reader, command: command, expected, deadline: deadline).closing(body)
    }
}

extension Connection {
    /// Calls `body`, and closes the connection.
    package func closing<Value>(_ body: (Connection) async throws -> Value) async throws -> Value {
        let value: Value
        do {
            value = try await body(self)
        } catch {
            await close()
            throw error
        }
        await close()
        return value
    }
}

/// How a command reaches PostgreSQL.
struct DatabaseSettings: Sendable {
    /// Anything that libpq takes; secret.
    let url: String
    /// Whether named prepared statements are used.
    let isPrepared: Bool

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid(Settings.database)
        url = try reader.required(Settings.databaseURL)
        isPrepared = try reader.required(Settings.prepared)
    }

    /// The same PostgreSQL server through another connection string, for another role.
    init(url: String, like other: DatabaseSettings) {
        self.url = url
        isPrepared = other.isPrepared
    }
}

extension ConnectionOptions {
    /// Names the command in `application_name`, unless the connection string sets another name.
    ///
    /// - Parameter role: The role of `sql/roles.sql` whose settings the session adopts where it did not log in as that role, for instance
    ///   under SET ROLE. Behind a pooler it adopts none, since they would leak into other sessions.
    init(_ settings: DatabaseSettings, command: String, role: String?) throws {
        try self.init(settings.url)
        if applicationName == "appstore-inbox" { applicationName = "appstore-inbox \(command)" }
        prepared = settings.isPrepared
        if let role, prepared { opening = Statement.adoptRoleSettings(role: role) }
    }
}

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
