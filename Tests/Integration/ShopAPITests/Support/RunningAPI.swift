import AppStore
import HTTPServing
import HTTPServingTesting
import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import Testing

@testable import ShopAPI

/// The API on a free port, with its own pool and database.
struct RunningAPI {
    let port: Int
    let database: TestDatabase
    let log: CapturedLog
    private let group: ServiceGroup

    /// Runs the API for the duration of a test and shuts it down gracefully.
    static func run(
        database: TestDatabase? = nil,
        connections: Int = 8,
        limits: (inout ListenerLimits) -> Void = { _ in },
        receiptBytes: Int? = nil,
        standby: String? = nil,
        _ body: (RunningAPI) async throws -> Void
    ) async throws {
        let database = if let database { database } else { try await InboxDatabase.make() }
        let log = CapturedLog()
        let pool = ConnectionPool(
            options: try ConnectionOptions(database.url(user: "appstore_api")),
            configuration: .init(maxConnections: connections, acquireTimeout: .seconds(20)),
            logger: log.logger
        )
        var configuration = APIServer.Configuration(listen: .tcp(host: "127.0.0.1", port: 0))
        limits(&configuration.limits)
        if let receiptBytes { configuration.receiptBytes = receiptBytes }
        let (ready, bound) = AsyncStream.makeStream(of: Int?.self)
        let standbyPool = try standby.map { url in
            ConnectionPool(options: try ConnectionOptions(url), configuration: .init(maxConnections: 2), logger: log.logger)
        }
        let server = try APIServer(configuration: configuration, pool: pool, standbyPool: standbyPool, logger: log.logger) {
            bound.yield($0)
        }
        let group = ServiceGroup(configuration: .init(services: [pool] + (standbyPool.map { [$0] } ?? []) + [server], logger: log.logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { bound.finish() }
                try await group.run()
            }
            for await port in ready {
                try await body(RunningAPI(port: port ?? 0, database: database, log: log, group: group))
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// Starts a graceful shutdown without waiting for its end.
    func shutDown() async {
        await group.triggerGracefulShutdown()
    }

    /// Makes a key as an operator. By default it covers everything.
    func makeKey(
        _ verbs: [Verb] = Verb.allCases,
        environments: [AppStoreEnvironment] = [.production, .sandbox],
        apps: [String]? = nil,
        until end: KeyEnd? = nil
    ) async throws -> TestKey {
        var generator = SystemRandomNumberGenerator()
        let key = APIKey(using: &generator)
        let keyID = try await database.withConnection(user: "appstore_operator") { connection in
            try await KeyRegister(connection).add(
                key,
                name: "test \(Int.random(in: 0 ... .max))",
                bundleIDs: apps,
                environments: environments,
                verbs: verbs,
                until: end
            )
        }
        return TestKey(id: keyID, text: key.text)
    }

    /// Sends one request on its own connection, and expects that the OpenAPI description lists the answer.
    ///
    /// - Parameter announced: the Content-Length; by default the length of `json`.
    func exchange(
        _ method: String,
        _ target: String,
        key: TestKey? = nil,
        authorization: String? = nil,
        json: String? = nil,
        fields: String = "Content-Type: application/json\r\n",
        announced: Int? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RawResponse {
        var request = "\(method) \(target) HTTP/1.1\r\nHost: shop\r\n"
        if let authorization = authorization ?? key.map({ "Bearer \($0.text)" }) { request += "Authorization: \(authorization)\r\n" }
        if let json { request += fields + "Content-Length: \(announced ?? json.utf8.count)\r\n" }
        let client = try await RawClient.connect(port: port, sending: request + "\r\n" + (json ?? ""))
        let response = try await client.response(toHead: method == "HEAD")
        client.close()
        try APIDescription.served.expectDescribed(method, target, response, sourceLocation: sourceLocation)
        return response
    }
}

/// A key and its number.
struct TestKey: Sendable {
    let id: Int32
    let text: String
}
