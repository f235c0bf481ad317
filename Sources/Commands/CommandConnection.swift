import Logging
package import Postgres
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
