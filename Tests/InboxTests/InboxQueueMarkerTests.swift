import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import Inbox

/// What markers lead to when there are two of them, when their process lives, and when they cannot be had.
struct InboxQueueMarkerTests {
    @Test func `two markers of one event count once, and do not stop others from being judged`() async throws {
        try await Clerk.with([.apply, .apply]) { database, pool, clerk in
            let queue = clerk.queue(pool)
            for death in 1...3 {
                for _ in 0..<2 { try await database.leaveMarker([1], isAlone: true) }
                #expect(try await queue.lookForLostBatches().deaths == 0)
                try await database.leaveMarker([2], isAlone: false)
                let report = try await queue.lookForLostBatches()
                #expect((report.deaths, report.failed, report.suspects) == (1, death == 3 ? 1 : 0, 1))
                #expect(try await database.lines("SELECT count(*)::text FROM appstore.batch_markers") == ["0"])
            }
            #expect(
                try await database.lines("SELECT concat_ws('|', event_id, reason, attempts) FROM appstore.failed") == ["1|killed_worker|3"]
            )
        }
    }

    @Test func `nobody takes a suspect whose last time alone has still to be judged`() async throws {
        try await Clerk.with([.apply]) { database, pool, clerk in
            try await database.leaveMarker([1], isAlone: false)
            let queue = clerk.queue(pool)
            #expect(try await queue.lookForLostBatches().suspects == 1)
            try await database.leaveMarker([1], isAlone: true)
            #expect(try await queue.takeBatch().events == 0)
            for _ in 0..<2 { _ = try await queue.lookForLostBatches() }
            #expect(try await database.lines("SELECT deaths::text FROM appstore.inbox_queue") == ["1"])
            #expect(clerk.prepared.withLock { $0 } == [])
        }
    }

    @Test func `a process that lives has time to say so before those in company are suspect, but for one that starts`() async throws {
        try await Clerk.with([.apply, .apply]) { database, pool, clerk in
            try await database.leaveMarker([1], isAlone: false)
            let queue = clerk.queue(pool) {
                $0.companyGrace = .seconds(3600)
                $0.batchEvents = 1
            }
            for _ in 0..<2 {
                let report = try await queue.lookForLostBatches()
                #expect((report.lost, report.suspects) == (0, 0))
            }
            #expect(try await database.lines("SELECT (lost_at IS NOT NULL)::text FROM appstore.batch_markers") == ["true"])
            #expect(try await queue.takeBatch().results == [.applied: 1], "it does not wait meanwhile")
            try await database.leaveMarker([2], isAlone: false)
            let report = try await clerk.queue(pool) { $0.companyGrace = .seconds(3600) }.lookForLostBatches(isFirst: true)
            #expect((report.lost, report.suspects) == (2, 1))
        }
    }

    @Test func `however many batches were lost, they are judged a few at a time`() async throws {
        try await Clerk.with([Clerk.Instruction](repeating: .apply, count: 20)) { database, pool, clerk in
            for event in 1...20 { try await database.leaveMarker([Int64(event)], isAlone: false) }
            try await database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE TABLE public.judged (lanes int8);
                    CREATE FUNCTION public.note_judged() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                        $$ BEGIN INSERT INTO public.judged SELECT count(*) FROM gone; RETURN NULL; END $$;
                    CREATE TRIGGER note_judged AFTER DELETE ON appstore.batch_markers REFERENCING OLD TABLE AS gone
                        FOR EACH STATEMENT EXECUTE FUNCTION public.note_judged();
                    """
                )
            }
            let report = try await clerk.queue(pool).lookForLostBatches()
            #expect((report.lost, report.suspects) == (20, 20))
            #expect(try await database.lines("SELECT max(lanes) || '|' || sum(lanes) FROM judged") == ["8|20"])
        }
    }

    @Test func `those that have time still do not keep others from being judged`() async throws {
        try await Clerk.with([Clerk.Instruction](repeating: .apply, count: 20)) { database, pool, clerk in
            let queue = clerk.queue(pool) { $0.companyGrace = .seconds(3600) }
            for event in 1...10 { try await database.leaveMarker([Int64(event)], isAlone: false) }
            #expect(try await queue.lookForLostBatches().lost == 0)
            try await database.leaveMarker([11], isAlone: true)
            // One to wait for its process, one to judge.
            _ = try await queue.lookForLostBatches()
            #expect(try await queue.lookForLostBatches().deaths == 1)
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.batch_markers WHERE lost_at IS NOT NULL") == ["10"])
        }
    }

    @Test func `a restart of the database makes nobody suspect`() async throws {
        try await Clerk.with([.killConnection, .apply]) { database, pool, clerk in
            let (own, other) = (clerk.queue(pool) { $0.companyGrace = .seconds(2) }, clerk.queue(pool) { $0.companyGrace = .seconds(2) })
            await #expect(throws: PostgresError.self) { try await own.takeBatch() }
            _ = try await database.lines("SELECT 'held' FROM appstore.inbox_queue FOR UPDATE")
            #expect(try await other.lookForLostBatches().suspects == 0, "the first who looks is another")
            _ = try await own.lookForLostBatches()
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.batch_markers") == ["0"])
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue WHERE is_isolated") == ["0"])
        }
    }

    @Test func `while the first host is silent, batches do not wait for their markers`() async throws {
        try await Clerk.with(Array(repeating: .apply, count: 5)) { database, pool, clerk in
            let silent = SilentServer()
            // The batches' own pool has its connection; the one beside it has not.
            let narrow = ConnectionPool(
                options: try ConnectionOptions(silent.url(before: database, user: "appstore_worker", timeout: 8)),
                configuration: ConnectionPool.Configuration(maxConnections: 1),
                logger: .silent
            )
            try await narrow.withConnection { _ in }
            let queue = clerk.queue(narrow) {
                $0.batchEvents = 1
                $0.markerPatience = .milliseconds(100)
            }
            let start = ContinuousClock.now
            for _ in 0..<5 { #expect(try await queue.takeBatch().results == [.applied: 1]) }
            #expect(ContinuousClock.now - start < .seconds(7), "a silent host takes eight seconds")
            #expect(queue.side.counts.opened == 0)
            // What was begun is not thrown away.
            let deadline = ContinuousClock.now + .seconds(60)
            while queue.side.counts.opened == 0 {
                try #require(ContinuousClock.now < deadline)
                do { _ = try await queue.lookForLostBatches() } catch is PostgresError {}
            }
            await narrow.close()
        }
    }
}
