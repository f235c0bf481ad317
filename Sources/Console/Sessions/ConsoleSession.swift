import AppStore
import OpenSSL
package import Postgres
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

/// 256 random bits: the token in a link, or the secret in a session's cookie. The database has only its SHA-256.
package struct ConsoleSecret: Sendable, CustomStringConvertible {
    private static let byteCount = 32

    /// 43 characters of base64url.
    package let text: String

    package init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        text = String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }

    /// Nil for a text that has another form.
    init?(_ text: String) {
        guard Base64URL.decode(Array(text.utf8))?.count == Self.byteCount else { return nil }
        self.text = text
    }

    /// The SHA-256 of `text`.
    package var hash: [UInt8] { Digest.sha256(Array(text.utf8)) }

    package var description: String { "a secret of the console" }
}

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

/// A person who uses the console.
struct ConsolePerson: Hashable, Sendable {
    enum Role: String, Sendable {
        case viewer, `operator`
    }

    /// The login of the database, or the name that the proxy gives. The audit records it.
    let name: String
    let role: Role
    /// Whether the person may ask for the body of an event.
    let showsBodies: Bool

    init(name: String, role: Role, showsBodies: Bool = false) {
        (self.name, self.role, self.showsBodies) = (name, role, showsBodies)
    }

    func has(_ right: ConsoleRight) -> Bool {
        switch right {
        case .operate: role == .operator
        case .showBodies: showsBodies
        }
    }
}

/// The people whom an authenticating proxy may name, from a file of lines `NAME viewer|operator [bodies]`.
package struct TrustedNames: Sendable, Equatable {
    /// Why a line is refused.
    package struct InvalidLine: Error, CustomStringConvertible {
        package let number: Int
        package var description: String { "line \(number) is not NAME viewer|operator [bodies], each name once" }
    }

    private var people: [String: ConsolePerson] = [:]

    /// No people.
    package init() {}

    /// - Parameter text: lines that begin with # are comments.
    package init(_ text: String) throws(InvalidLine) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let name = words.first, !name.hasPrefix("#") else { continue }
            let isForm = words.count == 2 || words.count == 3 && words[2] == "bodies"
            guard isForm, let role = ConsolePerson.Role(rawValue: words[1]), people[name] == nil else {
                throw InvalidLine(number: index + 1)
            }
            people[name] = ConsolePerson(name: name, role: role, showsBodies: words.count == 3)
        }
    }

    subscript(name: String) -> ConsolePerson? { people[name] }
}
