import HTTPServing
import HTTPServingTesting
import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import Testing

@testable import Console

/// The console on a free port, with a database of its own.
struct RunningConsole {
    let port: Int
    let database: TestDatabase
    let log: CapturedLog

    /// Runs the console for the duration of a test and shuts it down gracefully.
    ///
    /// - Parameter healthAsks: whether the page Health asks the database, with a connection of the console.
    static func run(
        connections: Int = 4,
        healthAsks: Bool = false,
        configure: (inout ConsoleServer.Configuration) -> Void = { _ in },
        _ body: (RunningConsole) async throws -> Void
    ) async throws {
        let database = try await InboxDatabase.make()
        let log = CapturedLog()
        let pool = ConnectionPool(
            options: try ConnectionOptions(database.url(user: "appstore_console")),
            configuration: .init(maxConnections: connections, acquireTimeout: .seconds(20)),
            logger: log.logger
        )
        var configuration = ConsoleServer.Configuration(listen: .tcp(host: "127.0.0.1", port: 0))
        configure(&configuration)
        let (ready, bound) = AsyncStream.makeStream(of: Int?.self)
        let health: HealthReport = {
            var found = "<b>down</b>"
            if healthAsks {
                do {
                    let rows = try await pool.withConnection { try await $0.query("SELECT session_user::text") }
                    found = try rows[0].decode(0, as: String.self)
                } catch {
                    found = "\(error)"
                }
            }
            return [HealthFinding(group: "database", status: .failure, subject: "server", found: found, remedy: "start it")]
        }
        let server = try ConsoleServer(configuration: configuration, pool: pool, health: health, logger: log.logger) { bound.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [pool, server], logger: log.logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { bound.finish() }
                try await group.run()
            }
            for await port in ready {
                try await body(RunningConsole(port: port ?? 0, database: database, log: log))
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// The fields that a browser sends with a form of a page of the console.
    static let sameOrigin = ["Sec-Fetch-Site": "same-origin"]

    /// Sends one request on a connection of its own.
    func send(
        _ method: String,
        _ target: String,
        cookie: String? = nil,
        fields: [String: String] = [:],
        form: String? = nil,
        host: String? = nil
    ) async throws -> RawResponse {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n"
        if let cookie { head += "Cookie: \(cookie)\r\n" }
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if let form { head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(form.utf8.count)\r\n" }
        let client = try await RawClient.connect(port: port, sending: head + "\r\n" + (form ?? ""))
        let response = try await client.response(toHead: method == "HEAD")
        client.close()
        return response
    }

    /// Makes a link as a login of the database.
    func token(as user: String) async throws -> String {
        var generator = SystemRandomNumberGenerator()
        let token = ConsoleSecret(using: &generator)
        _ = try await database.withConnection(user: user) { try await Login(token, on: $0) }
        return token.text
    }

    /// Logs in and returns the cookie.
    func logIn(as user: String) async throws -> String {
        let answer = try await send("POST", "/login", fields: Self.sameOrigin, form: "token=\(try await token(as: user))")
        #expect(answer.status == 303)
        let cookie = try #require(answer.headers["set-cookie"])
        return String(cookie.prefix { $0 != ";" })
    }

    /// Gets a page that must be there.
    func page(_ target: String, _ cookie: String) async throws -> String {
        let answer = try await send("GET", target, cookie: cookie)
        #expect(answer.status == 200, "\(target): \(answer.body)")
        return answer.body
    }

    /// Runs SQL as a superuser.
    func execute(_ sql: Statement) async throws {
        try await database.withConnection { _ = try await $0.query(sql) }
    }
}
