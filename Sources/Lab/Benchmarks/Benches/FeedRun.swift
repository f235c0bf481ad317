import Feed
import Postgres

/// One measurement of a worker that settles a backlog while changes are told, or are not.
struct FeedRun: Sendable {
    enum Kind: CaseIterable, Sendable {
        /// The feed is off.
        case off
        /// The worker tells changes and numbers them.
        case on
        /// The worker tells changes, which are numbered after the drain.
        case numberedLater
    }

    /// How one session numbered all changes of the drain.
    struct Numbering: Sendable {
        let changes: Int
        let entries: Int
        let seconds: Double
        let postgresTime: Duration
        let logBytes: Int
    }

    let drain: DrainRun
    /// Changes that had no position when the drain ended.
    let left: Int

    /// Turns the feed of a new copy of the backlog on. Its first step reads all changes there are, the later ones only new ones.
    static func enable(in database: String, of cluster: BenchmarkCluster) async throws {
        try await cluster.withConnection(to: database) { connection in
            _ = try await connection.execute("SELECT appstore.enable_feed()")
            _ = try await FeedStep.take(on: connection)
        }
    }

    /// Measures a worker; with ``Kind/numberedLater`` another session holds the end of the feed meanwhile.
    static func measure(
        _ kind: Kind,
        in database: String,
        of cluster: BenchmarkCluster,
        drain: () async throws -> DrainRun
    ) async throws -> FeedRun {
        if kind != .off { try await enable(in: database, of: cluster) }
        try await cluster.checkpoint()
        let run = try await cluster.withConnection(to: database) { holder in
            if kind == .numberedLater { try await holder.runScript("BEGIN; SELECT FROM appstore.feed_head FOR UPDATE;") }
            let run = try await drain()
            if kind == .numberedLater { try await holder.runScript("ROLLBACK") }
            return run
        }
        return FeedRun(drain: run, left: try await count("SELECT count(*) FROM appstore.tells", in: database, of: cluster))
    }

    /// Numbers all that is not numbered, in one session, which uses one core.
    static func number(in database: String, of cluster: BenchmarkCluster) async throws -> Numbering {
        let changes = try await count("SELECT count(*) FROM appstore.tells", in: database, of: cluster)
        try await cluster.checkpoint()
        return try await cluster.withConnection(to: database) { connection in
            let log = try await logPosition(connection)
            let before = try cluster.processorTime()
            let start = SteadyClock.now()
            var entries = 0
            while true {
                let step = try await FeedStep.take(on: connection)
                entries += step.told
                guard step.hasMore else { break }
            }
            let seconds = SteadyClock.now() - start
            return Numbering(
                changes: changes,
                entries: entries,
                seconds: seconds,
                postgresTime: try cluster.processorTime() - before,
                logBytes: try await logPosition(connection) - log
            )
        }
    }

    /// How many bytes of log the cluster has written since its creation.
    static func logPosition(_ connection: Connection) async throws -> Int {
        let rows = try await connection.query("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        return Int(try rows[0].decode(0, as: Int64.self))
    }

    static func count(_ statement: Statement, in database: String, of cluster: BenchmarkCluster) async throws -> Int {
        try await cluster.withConnection(to: database) { Int(try await $0.query(statement)[0].decode(0, as: Int64.self)) }
    }
}
