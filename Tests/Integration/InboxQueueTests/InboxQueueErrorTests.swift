import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import ServiceSupport
import Synchronization
import Testing

/// What a batch does about the database's errors, by their class. The body of an event is the error that its merge raises.
struct InboxQueueErrorTests {
    private func withQueue(attempts: Int = 3, _ body: (TestDatabase, EventQueue<ClaimedEvent>) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker")
        var configuration = QueueConfiguration()
        configuration.maximumAttempts = attempts
        configuration.retry.base = .seconds(3600)
        let queue = EventQueue<ClaimedEvent>(pool: pool, configuration: configuration, logger: .silent, prepare: { $0 }) {
            events,
            transaction in
            for event in events where event.body != Array("fine".utf8) {
                let state = String(decoding: event.body, as: UTF8.self)
                try await transaction.execute("DO $$ BEGIN RAISE EXCEPTION 'by test' USING ERRCODE = '\(unsafeRaw: state)'; END $$")
            }
            return events.map { _ in .outcome(Outcome(.applied)) }
        }
        try await body(database, queue)
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }

    private func receive(_ words: [String], in database: TestDatabase) async throws {
        let bodies = words.map { Array($0.utf8) }
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\(bodies))")
        }
    }

    @Test func `a batch that fails is run event by event, and an event that failed never joins a batch again`() async throws {
        let merges = Mutex<[String]>([])
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker")
        var configuration = QueueConfiguration()
        configuration.maximumAttempts = 2
        configuration.retry.base = .seconds(3600)
        let queue = EventQueue<ClaimedEvent>(pool: pool, configuration: configuration, logger: .silent, prepare: { $0 }) {
            events,
            transaction in
            let words = events.map { String(decoding: $0.body, as: UTF8.self) }
            merges.withLock { $0.append(words.joined()) }
            if words.contains("x") { try await transaction.execute("SELECT 1 / 0") }
            return events.map { _ in .outcome(Outcome(.applied)) }
        }
        try await receive(["a", "b", "x", "c", "d"], in: database)
        #expect(try await queue.takeBatch().results == [.applied: 4])
        #expect(merges.withLock(\.self) == ["abxcd", "a", "b", "x", "c", "d"])
        let state: Statement = """
            SELECT concat_ws('|', state, attempts, last_error LIKE '%22012%', next_run_at > now() + interval '20 minutes')
            FROM appstore.inbox_status WHERE event_id = 3
            """
        #expect(try await database.lines(state) == ["waiting|1|t|t"])
        merges.withLock { $0 = [] }
        try await receive(["e", "f"], in: database)
        try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run_at = now() - interval '1 s'") }
        #expect(try await database.lines(state) == ["ready|1|t|f"])
        #expect(try await queue.takeBatch().results == [.applied: 2])
        #expect(try await queue.takeIsolated()?.results == [.failed: 1])
        #expect(merges.withLock(\.self) == ["ef", "x"])
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }

    /// The conflict of the other transaction is over when the batch is repeated, or it is not.
    @Test(arguments: ["40P01", "40001"], [1, 2])
    func `a batch that conflicts with another transaction is repeated once before its events run one by one`(
        state: String,
        conflicts: Int
    ) async throws {
        let merges = Mutex<[String]>([])
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker")
        let queue = EventQueue<ClaimedEvent>(pool: pool, configuration: .init(), logger: .silent, prepare: { $0 }) { events, transaction in
            let count = merges.withLock { merges in
                merges.append(events.map { String(decoding: $0.body, as: UTF8.self) }.joined())
                return merges.count
            }
            if count <= conflicts {
                try await transaction.execute("DO $$ BEGIN RAISE EXCEPTION 'by test' USING ERRCODE = '\(unsafeRaw: state)'; END $$")
            }
            return events.map { _ in .outcome(Outcome(.applied)) }
        }
        try await receive(["a", "b", "c"], in: database)
        #expect(try await queue.takeBatch().results == [.applied: 3])
        #expect(merges.withLock(\.self) == ["abc", "abc"] + (conflicts == 2 ? ["a", "b", "c"] : []))
        #expect(try await database.lines("SELECT DISTINCT attempts::text FROM appstore.outcomes") == ["1"])
        // Nor does a single event that conflicts at its first try lose its place in a batch.
        merges.withLock { $0 = [] }
        try await receive(["d"], in: database)
        let report = try await queue.takeBatch()
        #expect((report.results, report.retries) == (conflicts == 1 ? [.applied: 1] : [:], conflicts == 1 ? 0 : 1))
        #expect(merges.withLock(\.self) == ["d", "d"])
        #expect(try await database.lines("SELECT DISTINCT attempts::text FROM appstore.inbox_queue") == (conflicts == 1 ? [] : ["0"]))
        await pool.close()
    }

    /// One of each class that an event's merge can cause.
    @Test(arguments: [
        ("22012", "merge_failed"), ("23505", "merge_failed"), ("P0001", "merge_failed"), ("54001", "merge_failed"),
        ("XX000", "merge_failed"),
    ])
    func `an error in one event's merge is that event's, and its neighbours settle in the same batch`(
        state: String,
        reason: String
    ) async throws {
        try await withQueue { database, queue in
            try await receive(["fine", "fine", state, "fine", "fine"], in: database)
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 4])
            #expect(report.retries == 1)
            #expect(try await queue.takeBatch().events == 0, "it waits, and does not keep the head of the queue busy")
        }
        try await withQueue(attempts: 1) { database, queue in
            try await receive(["fine", state], in: database)
            _ = try await queue.takeBatch()
            let failed = try await database.lines(
                "SELECT concat_ws('|', reason, attempts, last_error LIKE '%\(unsafeRaw: state)%') FROM appstore.failed"
            )
            #expect(failed == ["\(reason)|1|t"])
        }
    }

    @Test(arguments: ["55P03", "55000", "55006", "40P01", "40001", "53100", "53200", "58030", "42501", "42703", "42P01"])
    func `a lock that is not had, a disk that is full, a schema of another version: the event waits and loses no attempt`(
        state: String
    ) async throws {
        try await withQueue(attempts: 1) { database, queue in
            try await receive(["fine", "fine", state, "fine"], in: database)
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 3])
            #expect(report.retries == 1)
            let waiting = try await database.lines("SELECT concat_ws('|', event_id, attempts, is_isolated) FROM appstore.inbox_queue")
            #expect(waiting == ["3|0|t"])
        }
    }

    @Test func `a value that cannot be sent is its event's failure, which is counted`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker")
        var configuration = QueueConfiguration()
        configuration.maximumAttempts = 2
        configuration.retry = Backoff(base: .zero, cap: .zero)
        let queue = EventQueue<ClaimedEvent>(pool: pool, configuration: configuration, logger: .silent, prepare: { $0 }) {
            events,
            transaction in
            // Text with NUL is refused before anything is sent.
            for event in events { _ = try await transaction.query("SELECT \(String(decoding: event.body, as: UTF8.self))") }
            return events.map { _ in .outcome(Outcome(.applied)) }
        }
        try await receive(["fine", "\0", "fine"], in: database)
        let report = try await queue.takeBatch()
        #expect(report.results == [.applied: 2])
        #expect(report.retries == 1)
        #expect(try await queue.takeIsolated()?.results == [.failed: 1])
        let failed = try await database.lines("SELECT concat_ws('|', event_id, reason, attempts) FROM appstore.failed")
        #expect(failed == ["2|merge_failed|2"])
        await pool.close()
    }

    @Test func `an event whose statement is cancelled in company runs alone, where it counts`() async throws {
        try await withQueue(attempts: 1) { database, queue in
            try await receive(["fine", "57014", "fine"], in: database)
            #expect(try await queue.takeBatch().results == [.applied: 2])
            let waiting = try await database.lines("SELECT concat_ws('|', event_id, attempts, is_isolated) FROM appstore.inbox_queue")
            #expect(waiting == ["2|0|t"])
            #expect(try await queue.takeIsolated()?.results == [.failed: 1])
            let failed = try await database.lines("SELECT concat_ws('|', event_id, reason, attempts) FROM appstore.failed")
            #expect(failed == ["2|timed_out|1"])
        }
    }

    @Test func `an event that is blocked loses no attempt for a day, however old it is`() async throws {
        try await withQueue(attempts: 2) { database, queue in
            try await receive(["fine", "53200"], in: database)
            try await database.withConnection { connection in
                _ = try await connection.execute("UPDATE appstore.inbox SET received_at = received_at - interval '2 days'")
            }
            #expect(try await queue.takeBatch().results == [.applied: 1])
            // After a day each run is an attempt.
            for (hours, attempts) in [(23, 0), (2, 1), (0, 2)] {
                try await database.withConnection { connection in
                    _ = try await connection.execute(
                        "UPDATE appstore.inbox_queue SET run_at = now(), blocked_since = blocked_since - \(hours) * interval '1 hour'"
                    )
                }
                let report = try #require(try await queue.takeIsolated())
                #expect((report.results, report.retries) == (attempts == 2 ? [.failed: 1] : [:], attempts == 2 ? 0 : 1))
                let waiting = try await database.lines("SELECT attempts::text FROM appstore.inbox_queue")
                #expect(waiting == (attempts == 2 ? [] : ["\(attempts)"]))
            }
        }
    }

    @Test(arguments: ["57P01", "08006"])
    func `an error about the connection costs no event an attempt`(state: String) async throws {
        try await withQueue { database, queue in
            try await receive(["fine", state, "fine"], in: database)
            await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
            let waiting = try await database.lines(
                "SELECT concat_ws('|', count(*), sum(attempts)) FROM appstore.inbox_queue WHERE NOT is_isolated"
            )
            #expect(waiting == ["3|0"])
        }
    }

    @Test func `a batch whose COMMIT has no answer is claimed again, and costs no event an attempt`() async throws {
        try await withQueue { database, queue in
            try await receive(["fine", "fine"], in: database)
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE FUNCTION appstore.hang_up() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
                    ALTER FUNCTION appstore.hang_up() OWNER TO postgres;
                    CREATE CONSTRAINT TRIGGER hang_up AFTER INSERT ON appstore.outcomes DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION appstore.hang_up();
                    """
                )
            }
            await #expect { try await queue.takeBatch() } throws: { ($0 as? PostgresError)?.code == .commitUncertain }
            try await database.withConnection { _ = try await $0.execute("DROP TRIGGER hang_up ON appstore.outcomes") }
            #expect(try await queue.recoverLostBatches().isolated == 0, "this process lives and reports it")
            // In smaller batches.
            for _ in 0..<2 { #expect(try await queue.takeBatch().results == [.applied: 1]) }
            #expect(try await database.lines("SELECT attempts::text FROM appstore.outcomes") == ["1", "1"])
        }
    }
}
