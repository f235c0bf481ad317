import AppStoreVerification
import HTTPServing
import HTTPServingTesting
import Logging
import Postgres
import PostgresTesting
import Schema
import ServiceLifecycle
import ServiceSupport

@testable import Ingest

/// An ingest server on free ports, with its own group committer, pool and database.
struct RunningServer {
    let ports: IngestServer.Ports
    let database: TestDatabase
    let group: ServiceGroup
    let registry: MetricRegistry

    var port: Int { ports.notifications ?? 0 }
    var adminPort: Int { ports.admin ?? 0 }

    /// Runs a server for the duration of a test and shuts it down gracefully.
    ///
    /// - Parameter url: the connection URL of the server; by default its role over the Unix socket.
    static func run(
        database: TestDatabase? = nil,
        url: String? = nil,
        secrets: SharedSecrets = SharedSecrets(),
        logger: Logger = .silent,
        server: (inout IngestServer.Configuration) -> Void = { _ in },
        committer: (inout GroupCommitter.Configuration) -> Void = { _ in },
        heartbeat: @escaping @Sendable () -> Void = {},
        _ body: (RunningServer) async throws -> Void
    ) async throws {
        let database = if let database { database } else { try await TestDatabase.migrated().withoutTimeouts() }
        var serverConfiguration = IngestServer.Configuration()
        serverConfiguration.listen = .tcp(host: "127.0.0.1", port: 0)
        serverConfiguration.adminListen = .tcp(host: "127.0.0.1", port: 0)
        server(&serverConfiguration)
        var committerConfiguration = GroupCommitter.Configuration()
        committerConfiguration.probeDelay = .milliseconds(10) ... .milliseconds(100)
        committerConfiguration.commitTimeout = .seconds(60)
        committer(&committerConfiguration)

        let options = try ConnectionOptions(url ?? database.url(user: "appstore_ingest"))
        let pool = ConnectionPool(options: options, configuration: .init(maxConnections: 4), logger: logger)
        let registry = MetricRegistry(.receiver)
        let committer = GroupCommitter(pool: pool, configuration: committerConfiguration, logger: logger, metrics: registry)
        let (ready, bound) = AsyncStream.makeStream(of: IngestServer.Ports.self)
        let ingest = try IngestServer(
            configuration: serverConfiguration,
            committer: committer,
            secrets: { secrets },
            logger: logger,
            registry: registry,
            heartbeat: heartbeat
        ) { bound.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [pool, committer, ingest], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { bound.finish() }
                try await group.run()
            }
            for await ports in ready {
                try await body(RunningServer(ports: ports, database: database, group: group, registry: registry))
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

    func connect(sending first: String = "") async throws -> RawClient {
        try await RawClient.connect(port: port, sending: first)
    }

    /// Sends one request on its own connection and returns the answer.
    func exchange(_ request: String, port: Int? = nil) async throws -> RawResponse {
        let client = try await RawClient.connect(port: port ?? self.port, sending: request)
        let response = try await client.response(toHead: request.hasPrefix("HEAD"))
        client.close()
        return response
    }

    /// The stored bodies, in the order of events.
    func storedBodies() async throws -> [[UInt8]] {
        try await database.query("SELECT body FROM appstore.inbox ORDER BY event_id").map { try $0.decode("body") }
    }
}

extension TestDatabase {
    /// Creates a database with the current schema.
    static func migrated(in cluster: TestCluster = .shared) async throws -> TestDatabase {
        try await cluster.makeDatabase(
            prepare: { url in
                let connection = try await Connection.open(ConnectionOptions(url), logger: .silent)
                _ = try await SchemaMigrator(connection: connection, logger: .silent).migrate()
                await connection.close()
            },
            templateKey: "schema"
        )
    }

    /// Disables the lock and statement timeouts of the ingest role.
    func withoutTimeouts() async throws -> TestDatabase {
        let connection = try await Connection.open(ConnectionOptions(url()), logger: .silent)
        for setting in ["statement_timeout", "lock_timeout"] {
            _ = try await connection.execute(
                "ALTER ROLE appstore_ingest IN DATABASE \(identifier: name) SET \(identifier: setting) = 0"
            )
        }
        await connection.close()
        return self
    }

    /// Runs a query as superuser.
    func query(_ statement: Statement) async throws -> Rows {
        let connection = try await Connection.open(ConnectionOptions(url()), logger: .silent)
        let rows = try await connection.query(statement)
        await connection.close()
        return rows
    }
}

extension [MetricDescription] {
    /// The metrics of ingest. The descriptions are in Commands, on which these tests do not depend.
    fileprivate static var receiver: [MetricDescription] {
        let counters = [
            "http_refused", "ingest_accepted", "ingest_accepted_bytes", "ingest_commit_failures",
        ].map { MetricDescription("appstore_inbox_\($0)_total", .counter, "x") }
        let gauges = [
            "http_connections", "ingest_reserved_bytes", "ingest_waiting_events", "ingest_waiting_bytes", "ingest_batches_in_flight",
        ].map { MetricDescription("appstore_inbox_\($0)", .gauge, "x") }
        let histograms = ["ingest_accept_seconds", "ingest_batch_events", "ingest_commit_seconds"].map {
            MetricDescription("appstore_inbox_\($0)", .histogram(bounds: [1]), "x")
        }
        return counters + gauges + histograms
    }
}
