import Logging
import Postgres
import Schema

/// How an operator's command connects.
enum CommandConnection {
    /// Opens a connection to a database with the schema that this program knows, as the role that the command is made for.
    ///
    /// - Throws: ``SettingsError``, or a ``SchemaError`` that says what to do where the database cannot be used.
    static func open(_ reader: SettingsReader, command: String, _ expected: SchemaExpectation) async throws -> Connection {
        try reader.requireValid(Settings.database + Settings.log)
        let options = try ConnectionOptions(DatabaseSettings(reader), command: command, role: expected.role)
        let connection = try await Connection.open(options, logger: try Logger.service(command, reader))
        do {
            _ = try await SchemaFinding(expected, connection)
            return connection
        } catch {
            await connection.close()
            throw error
        }
    }
}
