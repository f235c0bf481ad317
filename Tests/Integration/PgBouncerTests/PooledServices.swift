import HTTPServing
import HTTPServingTesting
import InboxQueue
import InboxTesting
import Ingest
import Interpretation
import Postgres
import PostgresTesting
import ServiceLifecycle
import ShopAPI
import SignedTesting

/// The services of both daemons, which connect only to the pooler.
struct PooledServices {
    /// Connects without the pooler, to observe.
    let database: TestDatabase
    let bouncer: PgBouncer
    let committer: GroupCommitter
    let apiPort: Int

    /// Runs the services while `body` runs. The worker has more connections than the pooler has to its server.
    static func run(_ body: (PooledServices) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        try await PgBouncer.run(before: database) { bouncer in
            let pools = try ["ingest", "worker", "api"].map { try bouncer.pool(database, user: "appstore_\($0)", connections: 6) }
            let committer = GroupCommitter(pool: pools[0], logger: .silent)
            let (bound, binding) = AsyncStream.makeStream(of: Int?.self)
            let api = try APIServer(
                configuration: APIServer.Configuration(listen: .tcp(host: "127.0.0.1", port: 0)),
                pool: pools[2],
                logger: .silent
            ) { binding.yield($0) }
            let keeping = MaintenanceService(pool: pools[1], logger: .silent)
            let repairs = RepairService(pool: pools[1], logger: .silent)
            let services: [any Service] = [pools[0], pools[1], pools[2], committer, keeping, repairs, try worker(pools[1]), api]
            let group = ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: .silent))
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    defer { binding.finish() }
                    try await group.run()
                }
                for await port in bound {
                    try await body(PooledServices(database: database, bouncer: bouncer, committer: committer, apiPort: port ?? 0))
                    break
                }
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }

    private static func worker(_ pool: ConnectionPool) throws -> WorkerService {
        let processor = EventProcessor(EventReader(verifier: try SignedScene.verifier()))
        var configuration = EventQueue<EventProcessor.Prepared>.Configuration()
        configuration.batchEvents = 20
        let queue = EventQueue(
            pool: pool,
            configuration: configuration,
            logger: .silent,
            prepare: processor.prepare,
            merge: processor.merge
        )
        // One server connection is left for the statements of a batch outside its transaction.
        return WorkerService(
            queue: queue,
            configuration: WorkerService.Configuration(concurrency: PgBouncer.poolSize - 1),
            logger: .silent
        )
    }

    /// Waits until the first line of the result is `line`.
    func expect(_ line: String, from question: Statement) async throws {
        try await eventually("the result is \(line)", within: .seconds(60)) { try await database.lines(question).first == line }
    }

    /// One request to the API, as the shop's backend makes it.
    func exchange(_ method: String, _ target: String, key: APIKey, json: String = "") async throws -> RawResponse {
        let request = """
            \(method) \(target) HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer \(key.text)\r\nContent-Type: application/json\r
            Content-Length: \(json.utf8.count)\r\n\r\n\(json)
            """
        let client = try await RawClient.connect(port: apiPort, sending: request)
        defer { client.close() }
        return try await client.response()
    }
}
