package import Postgres
import SQL

/// What `appstore-inbox console login` stores for a link.
package struct Login: Sendable {
    /// Who will use the console.
    package let person: String
    package let role: String

    /// Stores the hash of a token for the login of this connection.
    ///
    /// - Throws: `PostgresError`, with state `insufficient_privilege` where the login is neither viewer nor operator.
    package init(_ token: ConsoleSecret, on connection: Connection) async throws {
        let row = try await connection.withTransaction { transaction in
            // Sessions of a viewer are read-only by default.
            try await transaction.execute("SET TRANSACTION READ WRITE")
            return try await transaction.query(.makeConsoleLogin(tokenHash: token.hash))[0]
        }
        (person, role) = (try row.decode("person"), try row.decode("role"))
    }
}
