import InboxTesting
import Postgres
import PostgresTesting
import Testing

@testable import Inbox

/// Outcomes that cannot be recorded.
struct InboxQueueRecordingTests {
    private func settle(_ queue: InboxQueue<ClaimedEvent>) async throws -> BatchReport {
        // The first failure says only that something is wrong.
        await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
        return try await queue.takeBatch()
    }

    @Test func `an event that has an outcome already stops no other, and waits for a repair`() async throws {
        try await Clerk.with([.apply, .apply, .apply, .apply]) { database, pool, clerk in
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
                    VALUES (2, 'notification_v2', now(), now(), 1, 1, 'applied')
                    """
                )
            }
            let queue = clerk.queue(pool) { $0.retry.maximumAttempts = 1 }
            #expect(try await settle(queue).results == [.applied: 3])
            let waiting = try await database.lines(
                """
                SELECT concat_ws('|', event_id, attempts, last_error LIKE '%23505%', run_at > now() + interval '1 hour')
                FROM appstore.inbox_queue
                """
            )
            #expect(waiting == ["2|0|t|t"])
            try await database.withConnection { _ = try await $0.execute("DELETE FROM appstore.inbox_queue") }
        }
    }

    @Test func `a worker settles only what is in the queue, and all of a batch or nothing`() async throws {
        try await Clerk.with([.apply, .apply]) { database, pool, clerk in
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
            try await clerk.finish(clerk.queue(pool), database)
        }
    }

    @Test func `outcomes that are recorded too slowly cost no attempt, and come in smaller batches`() async throws {
        try await Clerk.with([Clerk.Instruction](repeating: .apply, count: 16)) { database, pool, clerk in
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE FUNCTION appstore.dawdle() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM pg_sleep(0.1); RETURN NULL; END $$;
                    CREATE TRIGGER dawdle AFTER INSERT ON appstore.outcomes FOR EACH ROW EXECUTE FUNCTION appstore.dawdle();
                    DO $$ BEGIN
                        EXECUTE format('ALTER ROLE appstore_worker IN DATABASE %I SET statement_timeout = 800', current_database());
                    END $$;
                    """
                )
            }
            let queue = clerk.queue(pool)
            let error = await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
            #expect(error?.sqlState == .queryCanceled)
            var settled = 0
            for _ in 0..<20 where settled < 16 {
                do {
                    let report = try await queue.takeBatch()
                    #expect((1...8).contains(report.events))
                    settled += report.events
                } catch let error as PostgresError {
                    #expect(error.sqlState == .queryCanceled, "\(error)")
                }
            }
            #expect(try await database.lines("SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes") == ["applied|1"])
        }
    }

    @Test func `a COMMIT has its own time, and does not have the process end itself`() async throws {
        try await Clerk.with([.apply]) { database, pool, clerk in
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE FUNCTION appstore.dawdle() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN PERFORM pg_sleep(5); RETURN NULL; END $$;
                    CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON appstore.outcomes
                        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION appstore.dawdle();
                    """
                )
            }
            let queue = clerk.queue(pool) {
                $0.mergePatience = .seconds(1)
                $0.hangPatience = .milliseconds(400)
            }
            #expect(try await queue.takeBatch().results == [.applied: 1])
        }
    }

    @Test(arguments: ["AFTER INSERT", "DEFERRED"])
    func `an error that comes with the outcome or with COMMIT is one event's, which fails in the end`(time: String) async throws {
        try await Clerk.with([.apply, .apply, .apply, .apply]) { database, pool, clerk in
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
            let queue = clerk.queue(pool) { $0.retry = RetryPolicy(maximumAttempts: 2, baseDelay: .zero, maximumDelay: .zero) }
            let report = try await settle(queue)
            #expect(report.results == [.applied: 3])
            #expect(report.retries == 1)
            #expect(try await queue.takeBatch().results == [.failed: 1])
            let failed = try await database.lines(
                "SELECT concat_ws('|', event_id, reason, last_error LIKE '%by test%') FROM appstore.failed"
            )
            #expect(failed == ["3|merge_failed|t"])
        }
    }
}
