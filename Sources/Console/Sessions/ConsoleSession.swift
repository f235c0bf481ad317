import Postgres
import SQL

/// A session, as the database knows it.
struct ConsoleSession: Sendable {
    let person: ConsolePerson

    /// The session of a cookie's secret.
    static func find(_ secret: ConsoleSecret) -> Statement { Statement(.consoleReadSession, ["session_hash": secret.hash]) }

    /// Begins the session of a link.
    static func begin(_ token: ConsoleSecret, _ secret: ConsoleSecret) -> Statement {
        Statement(.consoleBeginSession, ["token_hash": token.hash, "session_hash": secret.hash])
    }

    /// Ends the session of a cookie.
    static func end(_ secret: ConsoleSecret) -> Statement { Statement(.consoleLogOut, ["session_hash": secret.hash]) }

    init(_ row: Row) throws {
        guard let role = ConsolePerson.Role(rawValue: try row.decode("role")) else { throw ConsoleProblem.broken }
        person = ConsolePerson(name: try row.decode("person"), role: role, showsBodies: try row.decode("shows_bodies"))
    }
}
