import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// The numbers that metrics, readiness and `status` show.
struct InboxStatisticsTests {
    private func statistics(_ database: TestDatabase, user: String = "appstore_worker") async throws -> InboxStatistics {
        try await database.withConnection(user: user) { connection in
            let rows = try await connection.query(InboxStatistics.statement)
            return try InboxStatistics(try #require(rows.first))
        }
    }

    private func run(_ database: TestDatabase, _ script: String) async throws {
        try await database.withConnection { try await $0.runScript(script) }
    }

    @Test(arguments: ["appstore_worker", "appstore_operator", "appstore_viewer"])
    func `an empty inbox has counts of zero and no ages`(role: String) async throws {
        let statistics = try await statistics(InboxDatabase.make(), user: role)
        let counts = [
            statistics.ready, statistics.waiting, statistics.unsettled, statistics.isolated, statistics.failed, statistics.lostBatches,
        ]
        #expect(counts == [0, 0, 0, 0, 0, 0])
        #expect(statistics.overdue == nil && statistics.oldestUnsettled == nil && statistics.silence == nil)
        #expect(statistics.seesAllSessions)
        #expect(statistics.partitions == 3)
    }

    @Test(arguments: ["appstore_ingest", "appstore_backend", "appstore_api"])
    func `a role that may not read the inbox may not read its statistics`(role: String) async throws {
        let database = try await InboxDatabase.make()
        let error = try await #require(throws: PostgresError.self) { _ = try await statistics(database, user: role) }
        #expect(error.sqlState == .insufficientPrivilege)
    }

    @Test func `events are due or wait, and ages are those of the first`() async throws {
        let database = try await InboxDatabase.make()
        try await run(
            database,
            """
            INSERT INTO appstore.inbox (event_id, source, received_at, body)
            SELECT n, 'notification_v2', now() - interval '1000 s' + n * interval '10 s', '\\x01' FROM generate_series(1, 10) AS n;
            INSERT INTO appstore.inbox_queue (event_id, run_at, bytes, attempts, is_isolated) VALUES
                (1, now() + interval '1 hour', 1, 3, false), (2, now() + interval '2 hours', 1, 1, true),
                (3, now() - interval '100 s', 1, 0, false), (4, now() - interval '50 s', 1, 2, true), (5, now() - interval '1 s', 1, 0, true);
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
            SELECT i.event_id, i.source, i.received_at, now(), 1, 1, o.result::appstore.result, 'x'
            FROM (VALUES (6, 'applied'), (7, 'duplicate'), (8, 'failed'), (9, 'failed'), (10, 'rejected')) AS o (event_id, result)
            JOIN appstore.inbox AS i USING (event_id);
            INSERT INTO appstore.batch_markers (lane, event_ids, is_alone, marked_at, lost_at)
            VALUES (1, '{3}', true, now(), NULL), (2, '{4}', true, now(), now());
            """
        )
        let statistics = try await statistics(database)
        #expect((statistics.ready, statistics.waiting, statistics.unsettled) == (3, 2, 5))
        #expect((statistics.isolated, statistics.failed, statistics.lostBatches) == (3, 2, 1))
        // Event 1, whose attempt is an hour away, came first; event 3 has been due for longest; event 7 is the last genuine one.
        #expect(try isAbout(statistics.oldestUnsettled, 990) && isAbout(statistics.overdue, 100) && isAbout(statistics.silence, 930))
    }

    private func isAbout(_ duration: Duration?, _ seconds: Int64) throws -> Bool {
        let duration = try #require(duration)
        return duration >= .seconds(seconds) && duration < .seconds(seconds + 60)
    }

    @Test func `junk does not break the silence, however much there is`() async throws {
        let database = try await InboxDatabase.make()
        try await run(
            database,
            """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
            SELECT n, 'notification_v2', now() - interval '30000 s' + n * interval '1 s', now(), 1, 1,
                   (CASE WHEN n = 1 THEN 'applied' ELSE 'rejected' END)::appstore.result, 'x'
            FROM generate_series(1, 10001) AS n;
            """
        )
        // The genuine one is beyond what is looked at: at least the age of what was looked at, and never less.
        #expect(try isAbout(try await statistics(database).silence, 29_998))
        try await run(database, "DELETE FROM appstore.outcomes WHERE event_id = 10001")
        #expect(try isAbout(try await statistics(database).silence, 29_999))
    }

    @Test(arguments: ["appstore_worker", "appstore_viewer"])
    func `five times the events, and not a page more is read`(role: String) async throws {
        let database = try await InboxDatabase.make()
        // It makes hundreds of pages of difference whether rows are known to be visible to all: an autovacuum that analyses a table meanwhile
        // keeps VACUUM from finding that.
        for table in ["inbox_queue", "outcomes_first"] {
            try await run(database, "ALTER TABLE appstore.\(table) SET (autovacuum_enabled = off)")
        }
        try await fill(database, from: 1, to: 90_000)
        let few = try await pagesRead(database, role)
        try await fill(database, from: 90_001, to: 450_000)
        let many = try await pagesRead(database, role)
        // The indexes are a level deeper.
        #expect(many <= few + 50)
        let statistics = try await statistics(database, user: role)
        #expect(statistics.ready == InboxStatistics.countedTo && statistics.waiting == InboxStatistics.countedTo)
        #expect(statistics.failed == InboxStatistics.countedTo)
        #expect(statistics.unsettled >= 2 * InboxStatistics.countedTo)
    }

    /// A third each is due, waits, or has failed.
    private func fill(_ database: TestDatabase, from: Int, to: Int) async throws {
        try await run(
            database,
            """
            SET synchronous_commit = off;
            INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
            SELECT n, now() + (n % 3 - 0.5) * interval '1 day' + n * interval '1 ms', 1 FROM generate_series(\(from), \(to)) AS n WHERE n % 3 < 2;
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
            SELECT n, 'notification_v2', now(), now() + n * interval '1 ms', 1, 1, 'failed', 'x'
            FROM generate_series(\(from), \(to)) AS n WHERE n % 3 = 2;
            """
        )
        for table in ["inbox_queue", "outcomes_first"] { try await run(database, "VACUUM (ANALYZE) appstore.\(table)") }
    }

    /// Of the schema's own tables: what is read of the catalogue depends on all that goes on in the cluster, and not on events.
    private func pagesRead(_ database: TestDatabase, _ role: String) async throws -> Int64 {
        try await database.awaitReports()
        let reads = try await database.reads(by: "statistics") {
            var options = try ConnectionOptions(database.url(user: role))
            options.applicationName = "statistics"
            let connection = try await Connection.open(options, logger: .silent)
            _ = try await connection.query("SELECT * FROM appstore.inbox_statistics()")
            await connection.close()
        }
        try #require(reads["inbox_queue"] != nil && reads["outcomes"] != nil)
        return reads.values.reduce(0) { $0 + $1.pages }
    }

    @Test func `a snapshot that any role holds is seen, with its age in transactions`() async throws {
        let database = try await InboxDatabase.make()
        let connection = try await Connection.open(ConnectionOptions(database.url(user: "appstore_viewer")), logger: .silent)
        try await connection.withTransaction { transaction in
            _ = try await transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            _ = try await transaction.query("SELECT 1")
            for _ in 0..<3 { try await run(database, "CREATE TABLE passing (); DROP TABLE passing") }
            let statistics = try await statistics(database)
            #expect(statistics.snapshotTransactions >= 3)
            #expect(try #require(statistics.snapshotAge) > .zero)
        }
        await connection.close()
    }
}
