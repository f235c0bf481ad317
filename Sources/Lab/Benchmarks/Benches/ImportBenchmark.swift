import AppStore
import Backfill
import FoundationEssentials
import Outbox
import Postgres
import ServerAPI
import StoreSimulator
import StoreSimulatorServer
import TemporaryPostgres

/// Measures how many customers of a file are asked about and stored, where Apple's limit is none.
package struct ImportBenchmark: Sendable {
    package var customers = 100_000
    package var rounds = 3
    /// Requests in flight.
    package var slots = 16
    package var seed: UInt64 = 1

    package init() {}

    private static let template = "loaded"
    private static let imported = "imported"

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            environment.progress("making \(customers) customers")
            let (api, key, ids) = try await store()
            try await load(ids, cluster, program: environment.program)
            let folder = try ClusterFolder.make(named: BenchmarkCluster.folderName)
            defer { CleanupRegistry.remove(folder: folder.path) }
            let host = try SimulatedHostIdentity.generate(around: Self.now())
            let root = folder.appending(path: "host.pem").path
            try Data(host.rootPEM.utf8).write(to: URL(filePath: root))
            var server = StoreServerAPI.Configuration(now: Self.now)
            server.identity = host
            let figures = try await StoreServerAPI.with(api, server) { store in
                let client = try Self.client(store, key, folder)
                return try await Rounds.run(rounds, of: 1) { _, round in
                    let rate = try await ask(client, trusting: root, cluster)
                    environment.progress("round \(round + 1) of \(rounds): \(rate.figureText) customers/s")
                    return rate
                }
            }
            return BenchmarkReport(
                name: "import",
                summary:
                    "\(customers) ids of a file, of as many customers with a subscription, asked about over TLS with \(slots) requests "
                    + "in flight, and each answer committed. The simulated App Store, which signs each answer, runs in the same process.",
                comparisons: [Comparison("imported", unit: "customers/s", rounds: figures[0])],
                machine: machine
            )
        }
    }

    @Sendable private static func now() -> Timestamp {
        Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
    }

    private func store() async throws -> (SimulatedServerAPI, StoreSimulator.ServerAPIKey, [String]) {
        let now = Self.now()
        let key = try StoreSimulator.ServerAPIKey.generate(seed: seed)
        let app = SimulatedTraffic.app
        let known = SimulatedServerAPI.App(bundleID: app.bundleID, appAppleID: app.appAppleID, issuer: key.issuer)
        var api = SimulatedServerAPI(apps: [known], keys: [key], signer: try BenchmarkStore().signer, seed: seed)
        api.limits.allowances[.subscriptionStatuses] = 1_000_000_000
        var store = SimulatedStore(app: app, seed: seed, now: now.advanced(by: .seconds(-86_400)))
        var ids: [String] = []
        for _ in 0..<customers {
            var life = store.makeCustomer()
            _ = try life.subscribe()
            api.hold(life, at: now)
            ids += [life.subscription?.originalTransactionID].compactMap(\.self)
        }
        return (api, key, ids)
    }

    private func load(_ ids: [String], _ cluster: BenchmarkCluster, program: String) async throws {
        try await cluster.makeDatabase(Self.template, program: program)
        let lines = (0..<ids.count).map { Int32($0 + 2) }
        let none = [String?](repeating: nil, count: ids.count)
        try await cluster.withConnection(to: Self.template) { connection in
            try await connection.execute("SELECT appstore.begin_import(\(SimulatedTraffic.app.bundleID), NULL, 'statuses', 'bench')")
            try await connection.execute(
                "SELECT appstore.add_import_items(1, \(lines), \(ids), \(none), \(none)::appstore.environment[], \(none))"
            )
            try await connection.execute("SELECT appstore.finish_import(1, sha256('bench'), 0)")
            try await connection.execute("VACUUM ANALYZE")
        }
    }

    private static func client(_ store: StoreServerAPI, _ key: StoreSimulator.ServerAPIKey, _ folder: URL) throws -> ServerAPIClient {
        let path = URL(filePath: try key.write(to: folder.path))
        let id = try APIKeyFile.id(issuer: key.issuer, name: path.lastPathComponent)
        let lane = CallLane(SimulatedTraffic.app.bundleID, .production)
        let keys = APIKeys([try APIKeyFile.key(id, Array(try Data(contentsOf: path)))], lanes: [lane])
        var hosts = ServerAPIHosts()
        hosts.production = store.address(of: .production) ?? ""
        return ServerAPIClient(hosts: hosts, keys: { keys }, budget: UnlimitedBudget(), logger: .silent, now: Self.now)
    }

    /// Asks about all customers of a copy of the database. Returns customers a second.
    private func ask(_ client: ServerAPIClient, trusting root: String, _ cluster: BenchmarkCluster) async throws -> Double {
        try await cluster.dropDatabase(Self.imported)
        try await cluster.copyDatabase(Self.template, as: Self.imported)
        try await cluster.checkpoint()
        let pool = ConnectionPool(
            options: try ConnectionOptions(cluster.url(Self.imported, user: "appstore_worker")),
            configuration: .init(maxConnections: slots),
            logger: .silent
        )
        var configuration = ImportService.Configuration()
        configuration.exchange.extraRootPaths = [root]
        configuration.slots = slots
        let service = ImportService(pool: pool, client: client, configuration: configuration, logger: .silent)
        let start = SteadyClock.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            group.addTask {
                try await cluster.withConnection(to: Self.imported) { connection in
                    let isDone: Statement = "SELECT state = 'done' AS is_done FROM appstore.imports"
                    while try await !connection.query(isDone)[0].decode("is_done", as: Bool.self) {
                        try await Task.sleep(for: .milliseconds(100))
                    }
                }
            }
            // The service ends first only if it fails.
            _ = try await group.next()
            group.cancelAll()
        }
        let elapsed = SteadyClock.now() - start
        await pool.close()
        let found = try await cluster.withConnection(to: Self.imported) { connection in
            try await connection.query("SELECT found + covered AS found FROM appstore.imports")[0].decode("found", as: Int32.self)
        }
        guard Int(found) == customers else { throw BenchmarkError(.wrongResult, "\(customers) customers were asked about, \(found) found") }
        return Double(customers) / elapsed
    }
}
