import AppStore
import FoundationEssentials
import Postgres
import StoreSimulator
import StoreSimulatorServer

/// Measures how fast one worker process reads Apple's notification history into the inbox, and settles what it had.
package struct HistoryBenchmark: Sendable {
    /// Notifications of the last month, of all apps together; each is a purchase of another customer, and none was pushed.
    package var records = 1_000_000
    /// Apps, each with a budget of its own: Apple answers fifty requests a second for each.
    package var apps = 4

    package init() {}

    private static let database = "history"
    /// Records of an app.
    private var each: Int { max(1, records / apps) }
    private var total: Int { each * apps }
    private static let month: Int64 = 29 * 86_400_000

    /// When parts of the work were done, in seconds since the worker was ready.
    private struct Times {
        let read: Double
        let settled: Double
    }

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        let (store, now) = (try BenchmarkStore(), Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)))
        let key = try ServerAPIKey.generate(seed: 1)
        let identity = try SimulatedHostIdentity.generate(around: now)
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            try await cluster.makeDatabase(Self.database, program: environment.program)
            try await cluster.withConnection(to: Self.database) { connection in
                try await connection.runScript("ALTER DATABASE \(Self.database) SET track_functions = 'pl'")
            }
            return try await EndlessHistoryServer.with(content(store, until: now), identity) { address in
                let settings = try settings(store, key, identity, address, cluster)
                let postgresBefore = try cluster.processorTime()
                let run = try await Daemon.withWorker(program: environment.program, settings: settings) { worker in
                    let times = try await awaitEnd(of: worker, in: cluster, environment)
                    return (times: times, worker: try worker.processorTime(), memory: try worker.peakMemory())
                }
                let postgres = try cluster.processorTime() - postgresBefore
                let (pages, calls) = try await counts(in: cluster)
                var report = BenchmarkReport(
                    name: "history",
                    summary:
                        "A month of notifications that were never pushed, \(total) of \(apps) apps: read from a simulated history by one worker "
                        + "process, and settled by it meanwhile. Apple's limits allow \(apps * 1000) records a second.",
                    comparisons: [
                        Comparison("read and stored", unit: "records/s", rounds: [Double(total) / run.times.read]),
                        Comparison("read and settled", unit: "records/s", rounds: [Double(total) / run.times.settled]),
                    ],
                    machine: machine
                )
                report.costs = DrainRun.costs(worker: run.worker, postgres: postgres, events: total, verification: nil)
                report.details = [
                    BenchmarkReport.Detail("worker's peak memory", Double(run.memory) / 1e6, unit: "MB"),
                    BenchmarkReport.Detail("statements of a page", Double(calls) / Double(max(1, pages)), unit: "statements"),
                    BenchmarkReport.Detail("pages", Double(pages), unit: "pages"),
                ]
                return report
            }
        }
    }

    private static func bundleID(_ number: Int) -> String { "\(SimulatedTraffic.app.bundleID).\(number)" }

    private func content(_ store: BenchmarkStore, until now: Timestamp) -> EndlessHistoryServer.Content {
        let signer = store.signer
        let first = now.advanced(by: .milliseconds(-Self.month - 3_600_000))
        return EndlessHistoryServer.Content(first: first, step: max(1, Self.month / Int64(each)), count: each) { bundleID, number, date in
            let app = SimulatedApp(bundleID: bundleID, appAppleID: SimulatedTraffic.app.appAppleID)
            let ordinal = UInt64(bundleID.split(separator: ".").last ?? "") ?? 0
            var shop = SimulatedStore(app: app, seed: ordinal << 40 | UInt64(number), now: date)
            var life = shop.makeCustomer()
            life.numberCharges(from: (200_000 + ordinal) * 10_000_000_000 + UInt64(number) * 10, step: 1)
            return try signer.sign(life.subscribe()).jws
        }
    }

    private func settings(
        _ store: BenchmarkStore,
        _ key: ServerAPIKey,
        _ identity: SimulatedHostIdentity,
        _ address: String,
        _ cluster: BenchmarkCluster
    ) throws -> [String: String] {
        let host = try cluster.write(identity.rootPEM, to: "host.pem")
        let keys = URL(filePath: host).deletingLastPathComponent().appending(path: "api-keys").path
        try key.write(to: keys)
        let names = (0..<apps).map { "\(Self.bundleID($0)):\(SimulatedTraffic.app.appAppleID ?? 0)" }
        let own = [
            "APPS": names.joined(separator: ","), "ENVIRONMENTS": "Production", "API_KEYS_DIRECTORY": keys, "API_PRODUCTION_URL": address,
            "API_BUDGET": "100", "OUTBOUND_ROOTS": host,
        ]
        return try store.workerSettings(database: Self.database, of: cluster).merging(own) { $1 }
    }

    private func awaitEnd(of worker: Daemon, in cluster: BenchmarkCluster, _ environment: BenchmarkEnvironment) async throws -> Times {
        let start = SteadyClock.now()
        return try await cluster.withConnection(to: Self.database) { connection in
            var read: Double?
            var told = 0
            while true {
                try worker.check()
                let row = try await connection.query(
                    """
                    SELECT coalesce(sum(stored), 0)::bigint AS stored, count(*) > 0 AND coalesce(bool_and(state <> 'open'), false) AS is_read,
                           NOT EXISTS (SELECT FROM appstore.inbox_queue) AS is_settled
                    FROM appstore.history_windows
                    """
                )[0]
                let elapsed = SteadyClock.now() - start
                let stored = Int(try row.decode("stored", as: Int64.self))
                let isRead: Bool = try row.decode("is_read")
                if isRead, read == nil { read = elapsed }
                if let read, try row.decode("is_settled", as: Bool.self) {
                    guard stored == total else {
                        throw BenchmarkError(.wrongResult, "\(total) records are listed, and \(stored) were stored")
                    }
                    return Times(read: read, settled: elapsed)
                }
                if stored / 50_000 > told {
                    told = stored / 50_000
                    environment.progress("\(stored) of \(total) records stored after \(Int(elapsed)) s")
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// The pages that were read, and the statements that were sent for them.
    private func counts(in cluster: BenchmarkCluster) async throws -> (pages: Int64, statements: Int64) {
        try await cluster.withConnection(to: Self.database) { connection in
            let row = try await connection.query(
                """
                SELECT (SELECT sum(pages)::bigint FROM appstore.history_windows) AS pages,
                       (SELECT sum(calls)::bigint FROM pg_catalog.pg_stat_user_functions WHERE schemaname = 'appstore' AND funcname IN (
                           'plan_history', 'lease_history_windows', 'store_history_page', 'postpone_history_window', 'classify_history',
                           'take_api_budget', 'block_api_endpoint')) AS statements
                """
            )[0]
            return (try row.decode("pages"), try row.decode("statements"))
        }
    }
}
