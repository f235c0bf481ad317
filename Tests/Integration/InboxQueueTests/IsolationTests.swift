import InboxTesting
import Postgres
import PostgresTesting
import ServiceSupport
import Synchronization
import Testing

@testable import InboxQueue

/// A batch that fails is run again event by event, and an event that fails by itself runs by itself from then on.
struct IsolationTests {
    private func waiting(_ database: TestDatabase) async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws('|', event_id, attempts, deaths, is_isolated) FROM appstore.inbox_queue ORDER BY event_id"
        )
    }

    private func makeTouched(_ database: TestDatabase) async throws {
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                CREATE TABLE appstore.touched AS SELECT 1 AS row;
                GRANT SELECT, UPDATE ON appstore.touched TO appstore_worker;
                """
            )
        }
    }

    @Test func `a table that another session locks costs no attempt and isolates no event`() async throws {
        try await ScriptedQueue.with(Array(repeating: .apply, count: 40)) { database, pool, script in
            let queue = script.queue(pool)
            try await database.holding("LOCK TABLE appstore.seen_notifications IN ACCESS EXCLUSIVE MODE") {
                for _ in 0..<2 {
                    await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
                    _ = try await queue.recoverLostBatches()
                }
            }
            #expect(try await waiting(database) == (1...40).map { "\($0)|0|0|f" })
            try await script.finish(queue, database)
            #expect(try await database.lines("SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes") == ["applied|1"])
        }
    }

    @Test func `an event that waits for another session's row is isolated without an attempt, and its neighbours settle`() async throws {
        try await ScriptedQueue.with([.apply, .apply, .touchRow] + Array(repeating: .apply, count: 13)) { database, pool, script in
            try await makeTouched(database)
            let queue = script.queue(pool)
            try await database.holding("SELECT FROM appstore.touched FOR UPDATE") {
                let report = try await queue.takeBatch()
                #expect(report.results == [.applied: 15])
                #expect(report.retries == 1)
                #expect(try await waiting(database) == ["3|0|0|t"])
                try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run_at = clock_timestamp()") }
                #expect(try await queue.takeIsolated()?.retries == 1)
                #expect(try await waiting(database) == ["3|0|0|t"], "also by itself it loses no attempt")
            }
            try await script.finish(queue, database)
        }
    }

    @Test func `a statement that takes too long isolates its event, which then has an attempt and more time`() async throws {
        try await ScriptedQueue.with([.apply, .slowMerge, .apply, .apply]) { database, pool, script in
            let queue = script.queue(pool)
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 3])
            #expect(report.retries == 1)
            #expect(try await waiting(database) == ["2|0|0|t"])
            #expect(try await queue.recoverLostBatches().isolatedAreDue)
            #expect(try await queue.takeBatch().events == 0, "no batch takes it again")
            #expect(try await queue.takeIsolated()?.retries == 1)
            #expect(try await waiting(database) == ["2|1|0|t"])
        }
    }

    @Test func `where many events are slow the server is the cause, and batches are smaller until one passes`() async throws {
        try await ScriptedQueue.with(Array(repeating: .slowMerge, count: 20)) { database, pool, script in
            // Six single events fit into four of these, also on a machine that is busy.
            let queue = script.queue(pool) { $0.batchTimeout = .seconds(2) }
            for _ in 0..<2 { _ = await #expect(throws: PostgresError.self) { try await queue.takeBatch() } }
            let waiting = try await waiting(database)
            #expect(waiting == (1...20).map { "\($0)|0|0|f" })
            let batches = script.batches.withLock { $0.map(\.count).filter { $0 > 1 } }
            #expect(batches == [20, 10])
        }
    }

    @Test func `events that another loop runs one by one join no batch, and fail none`() async throws {
        try await ScriptedQueue.with(Array(repeating: .slowMerge, count: 6) + [.apply, .apply]) { database, pool, script in
            // Six single events fit into four of these, also on a machine that is busy.
            let queue = script.queue(pool) { $0.batchTimeout = .seconds(2) }
            queue.inFlight.failed(Array(1...6), in: 99)
            await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
            #expect(script.batches.withLock(\.self) == [[7, 8]] + (1...6).map { [$0] }, "each of them once")
            let waiting = try await waiting(database)
            #expect(waiting == (1...6).map { "\($0)|0|0|f" })
        }
    }

    @Test func `a batch of which another loop runs all events one by one needs no marker`() async throws {
        try await ScriptedQueue.with([.apply, .apply]) { database, pool, script in
            let queue = script.queue(pool)
            queue.inFlight.failed([1, 2], in: 99)
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 2])
            #expect(script.batches.withLock(\.self) == [[1], [2]])
            #expect(queue.markers.areNeeded, "they could be written")
        }
    }

    @Test func `events that run one by one have a time together, and the next batch is smaller`() async throws {
        let slow = Array(repeating: ScriptedQueue.Instruction.slowApply, count: 30)
        try await ScriptedQueue.with([.slowMerge] + slow) { database, pool, script in
            let queue = script.queue(pool) {
                ($0.batchTimeout, $0.singleTimeout) = (.seconds(1), .seconds(1))
                ($0.batchEvents, $0.maximumAttempts) = (31, 1)
            }
            let report = try await queue.takeBatch()
            #expect((2..<31).contains(report.events), "\(report.events)")
            #expect(report.isFull)
            #expect(queue.losses.withLock(\.limit) == 15)
            try await script.finish(queue, database)
            #expect(try await database.lines("SELECT DISTINCT attempts::text FROM appstore.outcomes WHERE event_id > 1") == ["1"])
        }
    }

    @Test func `an event that waits for the database is not taken for one that computes`() async throws {
        try await ScriptedQueue.with([.apply, .apply]) { _, pool, _ in
            var configuration = QueueConfiguration()
            configuration.computeTimeout = .milliseconds(500)
            let queue = EventQueue<Int64>(pool: pool, configuration: configuration, logger: .silent, prepare: { $0.eventID }) {
                ids,
                transaction in
                // Had this been computing, the test's process would end.
                try await transaction.execute("SELECT pg_sleep(1.5)")
                return ids.map { _ in .outcome(Outcome(.applied)) }
            }
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 2])
        }
    }

    @Test func `an event that has an outcome already stops no other, and waits for a repair`() async throws {
        try await ScriptedQueue.with([.apply, .apply, .apply, .apply]) { database, pool, script in
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
                    VALUES (2, 'notification_v2', now(), now(), 1, 1, 'applied')
                    """
                )
            }
            let queue = script.queue(pool) { $0.maximumAttempts = 1 }
            #expect(try await queue.takeBatch().results == [.applied: 3])
            let waiting = try await database.lines(
                """
                SELECT concat_ws('|', event_id, attempts, is_isolated, last_error LIKE '%23505%', run_at > now() + interval '1 hour')
                FROM appstore.inbox_queue
                """
            )
            #expect(waiting == ["2|0|t|t|t"])
            try await database.withConnection { _ = try await $0.execute("DELETE FROM appstore.inbox_queue") }
        }
    }

    @Test func `a worker settles only what is in the queue, and all of a batch or nothing`() async throws {
        try await ScriptedQueue.with([.apply, .apply]) { database, pool, script in
            for events in ["{1,99}", "{1,1}"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.withConnection(user: "appstore_worker") { connection in
                        try await connection.execute(
                            """
                            SELECT appstore.settle('{}', \(events)::text::bigint[], '{s,s}', '{today,today}', '{1,1}', '{1,1}',
                                '{applied,applied}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')
                            """
                        )
                    }
                }
                #expect(error?.sqlState?.rawValue == "55000")
            }
            #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["1", "2"])
            try await script.finish(script.queue(pool), database)
        }
    }

    @Test(arguments: ["AFTER INSERT", "DEFERRED"])
    func `an error that comes with the outcome or with COMMIT is one event's, which fails in the end`(time: String) async throws {
        try await ScriptedQueue.with([.apply, .apply, .apply, .apply]) { database, pool, script in
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE FUNCTION appstore.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN
                        IF NEW.event_id = 3 AND NEW.result = 'applied' THEN RAISE EXCEPTION 'by test' USING ERRCODE = 'P0001'; END IF;
                        RETURN NULL;
                    END $$;
                    CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON appstore.outcomes
                        \(time == "DEFERRED" ? "DEFERRABLE INITIALLY DEFERRED" : "") FOR EACH ROW EXECUTE FUNCTION appstore.refuse();
                    """
                )
            }
            let queue = script.queue(pool) { ($0.maximumAttempts, $0.retry) = (2, Backoff(base: .zero, cap: .zero)) }
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 3])
            #expect(report.retries == 1)
            #expect(try await queue.takeIsolated()?.results == [.failed: 1])
            let failed = try await database.lines(
                "SELECT concat_ws('|', event_id, reason, attempts, last_error LIKE '%by test%') FROM appstore.failed"
            )
            #expect(failed == ["3|merge_failed|2|t"])
        }
    }

    @Test func `a body that cannot be read isolates its event, and the others settle`() async throws {
        let database = try await InboxDatabase.make()
        let bodies: [[UInt8]] = [[1], Array(repeating: 2, count: 20_000), [3]]
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\(bodies))")
        }
        try await database.loseBodyPart(ofEvent: 2)
        let pool = try database.pool(user: "appstore_worker")
        let queue = EventQueue<ClaimedEvent>(pool: pool, configuration: .init(), logger: .silent, prepare: { $0 }) { events, _ in
            events.map { event in .outcome(Outcome(.applied, reason: "\(event.source), \(event.body.count) bytes")) }
        }
        let report = try await queue.takeBatch()
        #expect(report.results == [.applied: 2])
        #expect(report.retries == 1)
        let waiting = try await database.lines(
            "SELECT concat_ws('|', event_id, attempts, is_isolated, last_error LIKE '%chunk number%') FROM appstore.inbox_queue"
        )
        #expect(waiting == ["2|1|t|t"])
        await pool.close()
    }

    @Test func `a right to read that is missing isolates no event`() async throws {
        try await ScriptedQueue.with(Array(repeating: .apply, count: 10)) { database, pool, script in
            try await database.withConnection { _ = try await $0.execute("REVOKE SELECT ON appstore.inbox FROM appstore_worker") }
            let queue = script.queue(pool)
            await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
            #expect(try await waiting(database) == (1...10).map { "\($0)|0|0|f" })
            try await database.withConnection { _ = try await $0.execute("GRANT SELECT ON appstore.inbox TO appstore_worker") }
            try await script.finish(queue, database)
        }
    }
}

extension TestDatabase {
    /// Removes a part of a body, as a damaged disk would.
    fileprivate func loseBodyPart(ofEvent event: Int64) async throws {
        let parts = try await lines(
            """
            SELECT c.reltoastrelid::regclass::text FROM pg_class AS c
            WHERE c.oid = (SELECT i.tableoid FROM appstore.inbox AS i WHERE i.event_id = \(event))
            """
        )[0]
        try await withConnection { connection in
            // PostgreSQL lets no role delete from a TOAST table, so that it is an ordinary table for a moment.
            try await connection.runScript(
                """
                UPDATE pg_class SET relkind = 'r' WHERE oid = '\(parts)'::regclass;
                DELETE FROM \(parts) WHERE chunk_seq = 3;
                UPDATE pg_class SET relkind = 't' WHERE oid = '\(parts)'::regclass;
                """
            )
            // Until then it can still be read.
            try await connection.runScript("VACUUM \(parts)")
        }
    }
}
