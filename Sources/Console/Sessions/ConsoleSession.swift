import Postgres
import SQL

/// A session, as the database knows it.
struct ConsoleSession: Sendable {
    let person: ConsolePerson

    /// The session of a cookie's secret.
    static func find(_ secret: ConsoleSecret) -> Statement { .consoleSession(sessionHash: secret.hash) }

    /// Begins the session of a link.
    static func begin(_ token: ConsoleSecret, _ secret: ConsoleSecret) -> Statement {
        .beginConsoleSession(tokenHash: token.hash, sessionHash: secret.hash)
    }

    /// Ends the session of a cookie.
    static func end(_ secret: ConsoleSecret) -> Statement { .logOutOfConsole(sessionHash: secret.hash) }

    init(_ row: Row) throws {
        guard let role = ConsolePerson.Role(rawValue: try row.decode("role")) else { throw ConsoleProblem.broken }
        person = ConsolePerson(name: try row.decode("person"), role: role, showsBodies: try row.decode("shows_bodies"))
    }
}
