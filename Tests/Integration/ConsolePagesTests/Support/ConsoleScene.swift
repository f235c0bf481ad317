import Console
import HTTPServing
import HTTPServingTesting
import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle

/// The console on a free port, with a database of its own and a session for each kind of person.
struct ConsoleScene {
    /// A person who is logged in.
    enum Person: String, CaseIterable {
        /// May repair and show bodies, as a superuser may everything.
        case `operator` = "postgres"
        case viewer = "appstore_viewer"
    }

    let port: Int
    let database: TestDatabase
    /// Takes the steps of repairs in place of a worker.
    let runner: RepairService
    private let secrets: [Person: ConsoleSecret]

    /// Runs the console for the duration of a test.
    static func run(
        _ prepare: String = "",
        bodyCheck: BodyCheck? = nil,
        _ body: (ConsoleScene) async throws -> Void
    ) async throws {
        let database = try await InboxDatabase.make()
        if !prepare.isEmpty { try await database.withConnection { try await $0.runScript(prepare) } }
        var generator = SystemRandomNumberGenerator()
        var secrets: [Person: ConsoleSecret] = [:]
        for person in Person.allCases {
            let secret = ConsoleSecret(using: &generator)
            secrets[person] = secret
            let role = person == .operator ? "operator" : "viewer"
            try await database.run(
                """
                INSERT INTO appstore.console_sessions (session_hash, person, role, shows_bodies, began_at, expires_at)
                VALUES (\(secret.hash), \(person.rawValue), \(role), \(person == .operator), now(), now() + interval '1 hour')
                """
            )
        }
        let pool = ConnectionPool(
            options: try ConnectionOptions(database.url(user: "appstore_console")),
            configuration: .init(maxConnections: 4, acquireTimeout: .seconds(20)),
            logger: .silent
        )
        let (ready, bound) = AsyncStream.makeStream(of: Int?.self)
        let server = try ConsoleServer(
            configuration: .init(listen: .tcp(host: "127.0.0.1", port: 0)),
            pool: pool,
            health: { [] },
            bodyCheck: bodyCheck,
            logger: .silent
        ) { bound.yield($0) }
        let worker = try database.pool(user: "appstore_worker", connections: 2)
        let runner = RepairService(pool: worker, logger: .silent)
        let group = ServiceGroup(configuration: .init(services: [pool, worker, server], logger: .silent))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { bound.finish() }
                try await group.run()
            }
            for await port in ready {
                try await body(ConsoleScene(port: port ?? 0, database: database, runner: runner, secrets: secrets))
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// Asks for a page.
    func get(_ target: String, as person: Person = .operator) async throws -> RawResponse {
        try await exchange("GET \(target) HTTP/1.1\r\n", person, body: "")
    }

    /// Sends a form.
    func post(_ target: String, _ fields: [(String, String)], as person: Person = .operator) async throws -> RawResponse {
        let body = fields.map { "\(Self.encoded($0))=\(Self.encoded($1))" }.joined(separator: "&")
        return try await exchange(
            "POST \(target) HTTP/1.1\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                + "Content-Length: \(body.utf8.count)\r\n",
            person,
            body: body
        )
    }

    /// Percent-encodes all but letters and digits.
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let digits = String(byte, radix: 16)
            return (byte < 128 && (UInt8(ascii: "0")...UInt8(ascii: "z")).contains(byte) && Character(Unicode.Scalar(byte)).isLetter)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                ? String(Character(Unicode.Scalar(byte))) : "%" + (digits.count < 2 ? "0" : "") + digits
        }.joined()
    }

    /// The only value of a query, as text.
    func value(_ statement: Statement) async throws -> String? { try await database.lines(statement).first }

    private func exchange(_ head: String, _ person: Person, body: String) async throws -> RawResponse {
        let cookie = secrets[person].map { "Cookie: appstore-console=\($0.text)\r\n" } ?? ""
        let client = try await RawClient.connect(port: port, sending: head + "Host: localhost\r\n\(cookie)\r\n" + body)
        let response = try await client.response()
        client.close()
        return response
    }
}

extension TestDatabase {
    /// Runs a statement as superuser.
    func run(_ statement: Statement) async throws {
        _ = try await withConnection { try await $0.execute(statement) }
    }
}
