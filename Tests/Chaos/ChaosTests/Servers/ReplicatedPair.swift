import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Synchronization
import TemporaryPostgres

/// A PostgreSQL primary and its synchronous standby, which has every commit that the primary has confirmed.
///
/// Only one task at a time may change it.
final class ReplicatedPair: Sendable {
    private let clusters: [Cluster]
    private let primaryIndex = Mutex(0)
    /// A superuser's connections to the current primary, bypassing the proxies.
    let sql: SQLAccess

    /// `fsync` is off: after a kill the kernel still has what the process wrote. `full_page_writes` stays on: a kill may come between the
    /// two
    /// halves of a page that the kernel keeps as two.
    private static let settings = [
        "fsync": "off", "shared_buffers": "128MB", "autovacuum": "on", "log_checkpoints": "off",
        "max_connections": "\(slots)", "superuser_reserved_connections": "10", "wal_keep_size": "512MB",
        // Bounds the WAL to replay after a crash.
        "max_wal_size": "512MB",
        // The standby reconnects soon after the primary is back.
        "wal_retrieve_retry_interval": "200ms",
    ]
    /// Few enough for a fault to take all of them.
    private static let slots = 70

    private init(_ clusters: [Cluster]) throws {
        self.clusters = clusters
        sql = try SQLAccess(url: Self.url(of: clusters, user: "postgres", hosts: clusters.map(\.folder.path), ports: clusters.map(\.port)))
    }

    /// Starts both, with an empty database `postgres`.
    static func start() async throws -> ReplicatedPair {
        let configuration = Cluster.Configuration(name: "appstore-inbox-tests", settings: settings)
        let pair = try ReplicatedPair([Cluster(configuration), Cluster(configuration)])
        try await pair.primary.initialize()
        try await pair.primary.launch()
        try await pair.rebuildStandby()
        return pair
    }

    var primary: Cluster { clusters[primaryIndex.withLock { $0 }] }
    private var standby: Cluster { clusters[1 - primaryIndex.withLock { $0 }] }
    /// The ports of both servers.
    var ports: [Int] { clusters.map(\.port) }

    /// A connection string that finds the current primary through these ports.
    func url(user: String, ports: [Int]) -> String {
        Self.url(of: clusters, user: user, hosts: ports.map { _ in "127.0.0.1" }, ports: ports)
    }

    private static func url(of clusters: [Cluster], user: String, hosts: [String], ports: [Int]) -> String {
        let (hosts, ports) = (hosts.joined(separator: ","), ports.map(String.init).joined(separator: ","))
        return "host=\(hosts) port=\(ports) user=\(user) dbname=postgres target_session_attrs=read-write sslmode=disable gssencmode=disable"
    }

    /// A connection string for the primary that bypasses the proxies.
    var primaryURL: String { primary.url(database: "postgres", user: "postgres") }

    /// Restarts the primary cleanly.
    func restart() async throws {
        await primary.stop()
        try await primary.launch()
    }

    /// Kills the primary's processes and starts it again.
    func crash() async throws {
        await primary.kill()
        try await primary.launch()
    }

    /// Stops the standby, so that no commit is confirmed, and starts it again after `meanwhile`.
    func withoutStandby<Value>(_ meanwhile: () async throws -> Value) async throws -> Value {
        await standby.stop()
        let result = await Result { try await meanwhile() }
        try await standby.launch()
        return try result.get()
    }

    /// Kills the primary while commits wait for the standby, promotes the standby, which does not have them, and rebuilds the old primary
    /// as
    /// the new standby.
    ///
    /// - Parameter meanwhile: what is done to the waiting commits before the primary dies.
    func failOver(_ meanwhile: () async throws -> Void) async throws {
        await standby.stop()
        let result = await Result { try await meanwhile() }
        await primary.kill()
        try await standby.launch()
        primaryIndex.withLock { $0 = 1 - $0 }
        try result.get()
        // A statement that waits would hold a snapshot, and WAL replay may have to wait for that.
        _ = try await onPrimary { try await $0.query("SELECT pg_promote(wait => false)") }
        try await eventually("the standby is promoted after replaying its WAL", within: .seconds(300)) {
            try await onPrimary { try await $0.query("SELECT WHERE NOT pg_is_in_recovery()").count } == 1
        }
        // Without a standby every commit would wait.
        try await setSynchronous(false)
        try await rebuildStandby()
    }

    /// Stops the primary and moves its data to a folder that does not exist yet.
    func keepData(at folder: URL) async throws {
        await primary.stop()
        try FileManager.default.moveItem(at: primary.dataFolder, to: folder)
    }

    func end() async {
        await sql.close()
        for cluster in clusters { await cluster.remove() }
    }

    /// Rebuilds the other cluster from the primary, and makes each commit wait for it.
    private func rebuildStandby() async throws {
        let (primary, standby) = (primary, standby)
        if FileManager.default.fileExists(atPath: standby.dataFolder.path) {
            try FileManager.default.removeItem(at: standby.dataFolder)
        }
        let source = "host=\(primary.folder.path) port=\(primary.port) user=postgres"
        try await PostgresPrograms.run(
            "pg_basebackup",
            ["-d", source, "-D", standby.dataFolder.path, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]
        )
        try await standby.launch()
        try await setSynchronous(true)
        try await eventually("the standby is synchronous", within: .seconds(60)) {
            try await onPrimary { try await $0.query("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'").count } == 1
        }
    }

    private func setSynchronous(_ isSynchronous: Bool) async throws {
        try await onPrimary { connection in
            try await connection.runScript("ALTER SYSTEM SET synchronous_standby_names = '\(isSynchronous ? "*" : "")'")
            _ = try await connection.query("SELECT pg_reload_conf()")
        }
    }

    /// Lends a connection to the primary that bypasses the proxies.
    func onPrimary<Value: Sendable>(_ body: (Connection) async throws -> Value) async throws -> Value {
        let connection = try await Connection.open(ConnectionOptions(primaryURL), logger: .silent)
        let result = await Result { try await body(connection) }
        await connection.close()
        return try result.get()
    }
}
