import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Synchronization
import Testing

@testable import InboxQueue

/// What a claim reads, and that it misses nothing.
struct InboxQueueClaimTests {
    private func queue(_ pool: ConnectionPool, batchEvents: Int) -> EventQueue<Int64> {
        var configuration = QueueConfiguration()
        configuration.batchEvents = batchEvents
        return EventQueue(
            pool: pool,
            configuration: configuration,
            logger: .silent,
            prepare: { $0.eventID },
            merge: { ids, _ in ids.map { _ in .outcome(Outcome(.applied)) } }
        )
    }

    /// Pages that a claim touches, and those that reading as many bodies does, by the plans that a worker would keep for ever.
    private func pages(
        of limit: Int,
        from mark: QueuePosition,
        on connection: Connection
    ) async throws -> (claim: Int, bodies: Int) {
        let instant = "timestamptz '2000-01-01 00:00+00' + \(mark.runAt.microsecondsSince2000) * interval '1 microsecond'"
        let from = mark == .start ? "'-infinity'" : instant
        let first = max(mark.eventID, 1)
        return try await connection.withTransaction { transaction in
            func pages(_ name: String, _ values: [String: String]) async throws -> Int {
                let text = try #require(Statement.texts.first { $0.name == name })
                try await transaction.execute("PREPARE measured AS \(unsafeRaw: text.sql)")
                let arguments = text.binds.map { values[$0.key] ?? "NULL" }.joined(separator: ", ")
                let plan = try await transaction.query(
                    "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE measured (\(unsafeRaw: arguments))"
                )
                try await transaction.execute("DEALLOCATE measured")
                return try Self.pages(in: plan[0].decode(0))
            }
            let claim = try await pages(
                "claim",
                [
                    "from_run_at": from, "from_event_id": "\(mark.eventID)", "contract": "\(SchemaContract.current)", "limit": "\(limit)",
                    "lane": "1", "bytes": "8000000",
                ]
            )
            let last = first + Int64(limit) - 1
            let bodies = try await pages(
                "read_bodies",
                [
                    "event_ids": "'{\((first...last).map(String.init).joined(separator: ","))}'", "first_event_id": "\(first)",
                    "last_event_id": "\(last)",
                ]
            )
            return (claim, bodies)
        }
    }

    private static func pages(in plan: JSONText) throws -> Int {
        let entries = try JSONSerialization.jsonObject(with: Data(plan.text.utf8)) as? [[String: Any]]
        let node = try #require(entries?.first?["Plan"] as? [String: Any])
        return try #require(node["Shared Hit Blocks"] as? Int) + #require(node["Shared Read Blocks"] as? Int)
    }

    @Test(arguments: ["never analyzed", "stale", "huge", "empty"])
    func `a claim reads no more behind twenty thousand dead entries that a snapshot holds, and before waiting ones`(
        statistics: String
    ) async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            if statistics == "stale" {
                try await connection.runScript(
                    """
                    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT 90000 + n, now(), 1 FROM generate_series(1, 100) AS n;
                    ANALYZE appstore.inbox_queue;
                    DELETE FROM appstore.inbox_queue;
                    """
                )
            }
            try await connection.runScript(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (source, received_at, body) SELECT 'notification_v2', now(), '\\x01' FROM generate_series(1, 32000)
                    RETURNING event_id
                )
                INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
                SELECT event_id, CASE WHEN event_id <= 24000 THEN now() - interval '1 hour' + event_id * interval '1 millisecond'
                                      ELSE now() + interval '1 hour' END, 1
                FROM stored;
                """
            )
            if statistics == "empty" {
                try await connection.runScript(
                    "UPDATE pg_class SET relpages = 0, reltuples = 0 WHERE oid = 'appstore.inbox_queue'::regclass"
                )
            } else if statistics == "huge" {
                try await connection.runScript(
                    "UPDATE pg_class SET relpages = 1e6, reltuples = 1e8 WHERE oid = 'appstore.inbox_queue'::regclass"
                )
            }
        }
        let pool = try database.pool(user: "appstore_worker")
        try await database.withConnection { holder in
            try await holder.withTransaction { snapshot in
                try await snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                _ = try await snapshot.query("SELECT count(*) FROM appstore.outcomes")

                let queue = queue(pool, batchEvents: 1000)
                for _ in 0..<20 { _ = try await queue.takeBatch() }
                // Without a look at the queue, behind which the mark lags: on from where the last one ended.
                let next = queue.cursor.next(at: .now - .seconds(3600))
                #expect(next.isContinuation)
                try await database.withConnection(user: "appstore_worker") { connection in
                    for limit in [1, 100, 200, 1000] {
                        let pages = try await pages(of: limit, from: next.position, on: connection)
                        #expect(pages.claim <= 2 * limit + 50, "claim of \(limit), going on")
                    }
                }
                // The mark follows when every transaction of the server has ended that was open before, so nothing is taken meanwhile.
                let first = try await first(of: database)
                let waiting = self.queue(pool, batchEvents: 1)
                while waiting.cursor.mark.position < first { #expect(try await waiting.hasDueEvents()) }

                try await database.withConnection(user: "appstore_worker") { connection in
                    for limit in [1, 100, 200, 1000] {
                        let mark = waiting.cursor.mark.position
                        let pages = try await pages(of: limit, from: mark, on: connection)
                        #expect(pages.claim <= 2 * limit + 50, "claim of \(limit)")
                        // The way down an index of three levels, and the row; these bodies are in it.
                        #expect(pages.bodies <= 5 * limit + 50, "bodies of \(limit) events")
                    }
                    let unmarked = try await pages(of: 1, from: .start, on: connection).claim
                    #expect(unmarked > 52, "without the mark \(unmarked) pages: then this test shows nothing")
                }
            }
        }
        await pool.close()
    }

    /// The first event of the queue.
    private func first(of database: TestDatabase) async throws -> QueuePosition {
        try await database.withConnection { connection in
            let rows = try await connection.query("SELECT run_at, event_id FROM appstore.inbox_queue ORDER BY run_at, event_id LIMIT 1")
            return QueuePosition(runAt: try rows[0].decode(0), eventID: try rows[0].decode(1))
        }
    }

    /// An inbox with so many events that have been due for long.
    private func backlog(of count: Int) async throws -> TestDatabase {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (source, received_at, body)
                    SELECT 'notification_v2', now(), '\\x01' FROM generate_series(1, \(count))
                    RETURNING event_id
                )
                INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
                SELECT event_id, now() - interval '1 hour' + event_id * interval '1 millisecond', 1 FROM stored;
                """
            )
        }
        return database
    }

    @Test func `the first claim of a process walks only once over what died under a snapshot`() async throws {
        let database = try await backlog(of: 20_000)
        try await database.withConnection { holder in
            try await holder.withTransaction { snapshot in
                try await snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                _ = try await snapshot.query("SELECT count(*) FROM appstore.outcomes")
                let pool = try database.pool(user: "postgres", connections: 1)
                try await pool.withConnection { try await $0.execute("DELETE FROM appstore.inbox_queue WHERE event_id <= 19000") }
                func read() async throws -> Int64 {
                    try await pool.withConnection { _ = try await $0.query("SELECT FROM pg_stat_force_next_flush()") }
                    return try #require(try await database.reads()["inbox_queue"]).entries
                }
                let before = try await read()
                #expect(try await self.queue(pool, batchEvents: 5).takeBatch().events == 5)
                let entries = try await read() - before
                #expect(entries >= 19_000, "then this test shows nothing")
                #expect(entries < 20_000)
                await pool.close()
            }
        }
    }

    /// Takes full batches while another session holds the first five events.
    private func takeBeside(_ queue: EventQueue<Int64>, batches: Int, on database: TestDatabase) async throws {
        try await database.withConnection { holder in
            try await holder.withTransaction { transaction in
                _ = try await transaction.query("SELECT FROM appstore.inbox_queue WHERE event_id <= 5 FOR UPDATE")
                for _ in 0..<batches { #expect(try await queue.takeBatch().events == 5) }
                #expect(queue.cursor.next(at: .now - .seconds(3600)).isContinuation)
            }
        }
    }

    private static let first: Statement = "SELECT count(*)::text FROM appstore.outcomes WHERE event_id <= 5"

    @Test func `an event that another transaction released is taken soon, though in a backlog a claim goes on where the last one ended`()
        async throws
    {
        let database = try await backlog(of: 20_000)
        let pool = try database.pool(user: "appstore_worker")
        let queue = queue(pool, batchEvents: 5)
        try await takeBeside(queue, batches: 3, on: database)
        var batches = 0
        while try await database.lines(Self.first) != ["5"] {
            _ = try await queue.takeBatch()
            batches += 1
        }
        // A look at the queue comes with one of the claims of the next 20 ms; otherwise it would be after four thousand.
        #expect(batches < 500)
        await pool.close()
    }

    @Test func `an event that another transaction released is taken at once when nothing else is due`() async throws {
        let database = try await backlog(of: 10)
        let pool = try database.pool(user: "appstore_worker")
        let queue = queue(pool, batchEvents: 5)
        try await takeBeside(queue, batches: 1, on: database)
        // So that no look at the queue comes in between.
        _ = queue.cursor.next(at: .now + .seconds(3600))
        #expect(try await queue.takeBatch().events == 5)
        #expect(try await database.lines(Self.first) == ["5"])
        await pool.close()
    }

    @Test func `an event whose COMMIT takes longer than a second is taken as soon as it is there`() async throws {
        // Where nothing else commits meanwhile, by which a snapshot would notice that it has begun.
        let database = try await InboxDatabase.make(in: try await TestCluster.startPrivate())
        let pool = try database.pool(user: "appstore_worker")
        let queue = self.queue(pool, batchEvents: 10)
        try await database.withConnection { connection in
            try await connection.withTransaction { transaction in
                // As if it had been written a while ago, and had waited since for a standby.
                try await transaction.execute(
                    """
                    WITH stored AS (
                        INSERT INTO appstore.inbox (source, received_at, body)
                        VALUES ('notification_v2', clock_timestamp() - interval '3 seconds', '{}') RETURNING event_id, received_at
                    )
                    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT event_id, received_at, 2 FROM stored
                    """
                )
                // There are several looks at the queue meanwhile.
                let end = ContinuousClock.now + .milliseconds(300)
                while ContinuousClock.now < end { #expect(try await queue.takeBatch().events == 0) }
            }
        }
        #expect(try await queue.takeBatch().events == 1)
        await pool.close()
    }

    @Test(
        arguments: [
            "receive(ARRAY['{}'::bytea])", "store('client_transaction', ARRAY['{}'::bytea])", "create_order('alice', 'pro.monthly')",
        ]
    )
    func `what is stored is on the disk before it is answered, whatever the database's default is`(call: String) async throws {
        let database = try await InboxDatabase.make()
        let name = try await database.lines("SELECT quote_ident(current_database())")[0]
        for (setting, atCommit) in [("off", "on"), ("remote_apply", "remote_apply")] {
            try await database.withConnection { try await $0.runScript("ALTER DATABASE \(name) SET synchronous_commit = \(setting)") }
            try await database.withConnection { connection in
                let levels = try await connection.withTransaction { transaction in
                    let before = try await transaction.query("SELECT current_setting('synchronous_commit')")[0].decode(0, as: String.self)
                    _ = try await transaction.query("SELECT appstore.\(unsafeRaw: call)")
                    let after = try await transaction.query("SELECT current_setting('synchronous_commit')")[0].decode(0, as: String.self)
                    return [before, after]
                }
                #expect(levels == [setting, atCommit])
            }
        }
    }

    @Test(arguments: ["receive(ARRAY['{}'::bytea])", "store('client_transaction', ARRAY['{}'::bytea])"])
    func `what receives an event has its transaction's number before it looks at the clock`(call: String) async throws {
        let database = try await InboxDatabase.make()
        let receive: Statement = "SELECT appstore.\(unsafeRaw: call)"
        // The sequence writes, for which it needs a number, at its first call and then at one in 32.
        try await database.withConnection { _ = try await $0.query(receive) }
        let partition = try await database.lines("SELECT DISTINCT tableoid::regclass::text FROM appstore.inbox")[0]
        try await database.withConnection { holder in
            try await holder.runScript("BEGIN; LOCK TABLE \(partition) IN ACCESS EXCLUSIVE MODE")
            async let received = database.withConnection { try await $0.query(receive).count }
            try await MaintenanceBench.awaitWaiting(database)
            let numbered = try await database.lines(
                "SELECT (backend_xid IS NOT NULL)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            #expect(numbered == ["true"])
            try await holder.runScript("ROLLBACK")
            #expect(try await received == 1)
        }
    }

    /// Inserts that commit late and out of order or not at all, claims that are rolled back, several queues with a mark each: for some
    /// seconds, fewer than lie between two sweeps.
    @Test func `no event is stranded behind a mark, whatever is open meanwhile`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "postgres", connections: 12)
        let failures = Atomic(0)
        let queues = (0..<3).map { index in
            var configuration = QueueConfiguration()
            configuration.batchEvents = 5
            return EventQueue<Int64>(
                pool: pool,
                configuration: configuration,
                logger: .silent,
                prepare: { $0.eventID },
                merge: { ids, _ in
                    if Int.random(in: 0..<4) == 0 {
                        failures.add(1, ordering: .relaxed)
                        throw CancellationError()
                    }
                    return ids.map { _ in .outcome(Outcome(.applied)) }
                }
            )
        }
        let inserters = Countdown(from: 6)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    var inserted = 0
                    // For as long as it takes until there is a mark to be stranded behind.
                    while inserted < 40 || !queues.allSatisfy({ $0.cursor.mark.position > .start }) {
                        try await Self.insert(in: pool)
                        inserted += 1
                    }
                    inserters.step()
                }
            }
            for queue in queues {
                group.addTask {
                    while !inserters.isOver {
                        do { _ = try await queue.takeBatch() } catch is CancellationError {}
                    }
                }
            }
            try await group.waitForAll()
        }
        // Whatever is left is to be found by each queue from its own mark.
        #expect(failures.load(ordering: .relaxed) > 0)
        for queue in queues {
            let ready = try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue")
            let mark = queue.cursor.mark.position
            let visible = try await database.lines(
                """
                SELECT count(*)::text FROM appstore.inbox_queue WHERE (run_at, event_id) >= (\(mark.runAt), \(mark.eventID))
                """
            )
            #expect(visible == ready)
        }
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }

    /// Inserts a few events in a transaction that stays open for a random while and may be rolled back.
    private static func insert(in pool: ConnectionPool) async throws {
        struct RolledBack: Error {}
        do {
            try await pool.withTransaction { transaction in
                for _ in 0..<3 {
                    try await transaction.execute("SELECT appstore.receive(\([[UInt8(1)], [UInt8(2)]]))")
                    try await transaction.execute("SELECT pg_sleep(\(unsafeRaw: "\(Double.random(in: 0...0.05))"))")
                }
                if Int.random(in: 0..<5) == 0 { throw RolledBack() }
            }
        } catch is RolledBack {
            // As meant.
        }
    }
}

private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(from count: Int) {
        left = Atomic(count)
    }

    var isOver: Bool { left.load(ordering: .relaxed) == 0 }

    func step() {
        left.subtract(1, ordering: .relaxed)
    }
}
