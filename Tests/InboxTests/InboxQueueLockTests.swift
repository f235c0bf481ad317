import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import Inbox

/// Locks that other sessions keep, and a slow database: no event is at fault.
struct InboxQueueLockTests {
    /// Runs `body` while another session holds a lock.
    private func holding(_ lock: Statement, in database: TestDatabase, _ body: () async throws -> Void) async throws {
        try await database.withConnection { holder in
            try await holder.withTransaction { transaction in
                try await transaction.execute(lock)
                try await body()
            }
        }
    }

    private func waiting(_ database: TestDatabase) async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws('|', event_id, attempts, deaths, is_isolated) FROM appstore.inbox_queue ORDER BY event_id"
        )
    }

    @Test func `a table that is locked for long costs nobody an attempt, and makes nobody suspect`() async throws {
        try await Clerk.with(Array(repeating: .apply, count: 40)) { database, pool, clerk in
            let queue = clerk.queue(pool)
            try await holding("LOCK TABLE appstore.seen_notifications IN ACCESS EXCLUSIVE MODE", in: database) {
                for _ in 0..<4 {
                    let report = try await queue.takeBatch()
                    #expect(report.results == [:] && report.givenUp == 0)
                    _ = try await queue.lookForLostBatches()
                }
            }
            #expect(try await waiting(database) == (1...40).map { "\($0)|0|0|f" })
            try await clerk.finish(queue, database)
            #expect(try await database.lines("SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes") == ["applied|1"])
        }
    }

    @Test func `an event whose row somebody has locked waits, and its neighbours settle in the same batch`() async throws {
        try await Clerk.with([.apply, .apply, .touchRow] + Array(repeating: .apply, count: 13)) { database, pool, clerk in
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE TABLE appstore.touched AS SELECT 1 AS row;
                    GRANT SELECT, UPDATE ON appstore.touched TO appstore_worker;
                    """
                )
            }
            let queue = clerk.queue(pool)
            try await holding("SELECT FROM appstore.touched FOR UPDATE", in: database) {
                let report = try await queue.takeBatch()
                #expect(report.results == [.applied: 15])
                #expect(report.retries == 1)
            }
            #expect(try await waiting(database) == ["3|0|0|f"])
            try await clerk.finish(queue, database)
        }
    }

    @Test func `a suspect whose row is locked stays innocent, and does not keep the others out for long`() async throws {
        try await Clerk.with([.touchRow]) { database, pool, clerk in
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE TABLE appstore.touched AS SELECT 1 AS row;
                    GRANT SELECT, UPDATE ON appstore.touched TO appstore_worker;
                    """
                )
            }
            try await database.leaveMarker([1], isAlone: false)
            let queue = clerk.queue(pool)
            #expect(try await queue.lookForLostBatches().suspects == 1)
            try await holding("SELECT FROM appstore.touched FOR UPDATE", in: database) {
                let report = try await queue.takeBatch()
                #expect(report.retries == 1)
            }
            #expect(try await waiting(database) == ["1|0|0|t"])
            #expect(clerk.batches.withLock { $0 } == [[1]])
        }
    }

    @Test func `a merge that the database does not finish is forgotten, and nobody is to blame`() async throws {
        try await Clerk.with([.apply, .slowMerge]) { database, pool, clerk in
            let queue = clerk.queue(pool) { $0.mergePatience = .milliseconds(300) }
            await #expect(throws: Batch.Overdue.self) { try await queue.takeBatch() }
            // Its server process holds the events until it has noticed.
            _ = try await database.lines("SELECT 'held' FROM appstore.inbox_queue FOR UPDATE")
            let report = try await queue.lookForLostBatches()
            #expect((report.lost, report.suspects, report.deaths) == (0, 0, 0))
            #expect(try await waiting(database) == ["1|0|0|f", "2|0|0|f"])
        }
    }

    @Test func `a statement that takes too long is one event's, and its neighbours settle in the same batch`() async throws {
        try await Clerk.with([.apply, .slowMerge, .apply, .apply]) { database, pool, clerk in
            // The role's own thirty seconds would be too long to have others wait.
            let queue = clerk.queue(pool) { $0.statementPatience = .milliseconds(300) }
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 3])
            #expect(report.retries == 1)
            #expect(try await waiting(database) == ["2|0|0|t"])
            // Alone it has more time, and an attempt of its own.
            #expect(try await queue.lookForLostBatches().suspectsAreDue)
            #expect(try await queue.takeBatch().retries == 1)
            #expect(try await waiting(database) == ["2|1|0|t"])
        }
    }

    @Test func `where every statement takes long, the bound follows, and nobody is suspect`() async throws {
        try await Clerk.with([Clerk.Instruction](repeating: .apply, count: 3)) { database, pool, clerk in
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE FUNCTION appstore.dawdle() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
                    CREATE TRIGGER dawdle AFTER INSERT ON appstore.seen_notifications FOR EACH STATEMENT EXECUTE FUNCTION appstore.dawdle();
                    """
                )
            }
            let queue = clerk.queue(pool) {
                $0.batchEvents = 1
                $0.statementPatience = .milliseconds(100)
            }
            var (suspects, settled) = (0, 0)
            for _ in 0..<20 where settled < 3 {
                let report = try await queue.takeBatch()
                suspects += report.retries
                settled += report.results[.applied] ?? 0
                if report.events == 0 { _ = try await queue.lookForLostBatches() }
            }
            // Twice as much each time that it was too tight.
            #expect((suspects, settled) == (3, 3))
            let attempts = try await database.lines("SELECT DISTINCT attempts::text FROM appstore.outcomes")
            #expect(attempts == ["1"])
        }
    }

    @Test func `a batch in parts gives way to who waits for it, before one of them is ended for a deadlock`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                CREATE TABLE appstore.touched AS VALUES ('first'), ('last');
                GRANT SELECT, UPDATE ON appstore.touched TO appstore_worker;
                """
            )
        }
        try await database.withConnection(user: "appstore_ingest") { connection in
            let words = ["first", "calm", "calm"] + Array(repeating: "poison", count: 5) + ["last"]
            _ = try await connection.execute("SELECT appstore.receive(\(words.map { Array($0.utf8) }))")
        }
        let opponent = try await Opponent(database)
        let pool = try database.pool(user: "appstore_worker")
        var configuration = QueueConfiguration()
        configuration.retry = RetryPolicy(maximumAttempts: 1)
        // The opponent is waited for in the merge.
        configuration.patience = .seconds(60)
        let queue = InboxQueue<ClaimedEvent>(pool: pool, configuration: configuration, logger: .silent, prepare: { $0 }) {
            events,
            transaction in
            for event in events {
                let word = String(decoding: event.body, as: UTF8.self)
                // So many part the batch: the first three are merged, and what they hold stays held while the others run one by one.
                guard word != "poison" else { throw Opponent.Breach() }
                if word == "last" { try await opponent.startToWait(in: database) }
                try await transaction.execute("SELECT FROM appstore.touched WHERE column1 = \(word) FOR UPDATE")
            }
            return events.map { _ in .outcome(Outcome(.applied)) }
        }
        let report = try await queue.takeBatch()
        #expect(report.results == [.applied: 3, .failed: 5])
        #expect(report.retries == 1)
        #expect(try await waiting(database) == ["9|0|0|f"])
        try await opponent.end()
        #expect(try await database.lines("SELECT (last_error LIKE '%lock timeout%')::text FROM appstore.inbox_queue") == ["true"])
        try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run_at = clock_timestamp()") }
        #expect(try await queue.takeBatch().results == [.applied: 1])
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }
}

/// Holds the row that the last event needs, and wants the one that the first event holds; it is never the victim of a deadlock.
private actor Opponent {
    struct Breach: Error {}

    private let connection: Connection
    private var wish: Task<Void, any Error>?

    init(_ database: TestDatabase) async throws {
        connection = try await Connection.open(ConnectionOptions(database.url()), logger: .silent)
        try await connection.runScript(
            "SET deadlock_timeout = '1h'; BEGIN; SELECT FROM appstore.touched WHERE column1 = 'last' FOR UPDATE"
        )
    }

    /// Returns when it waits for the first event's row.
    func startToWait(in database: TestDatabase) async throws {
        guard wish == nil else { return }
        wish = Task { try await connection.runScript("SELECT FROM appstore.touched WHERE column1 = 'first' FOR UPDATE; COMMIT") }
        let waits: Statement = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        try await database.withConnection { observer in
            while try await observer.query(waits).isEmpty {}
        }
    }

    /// Returns when it has had what it wanted.
    func end() async throws {
        try await wish?.value
        await connection.close()
    }
}
