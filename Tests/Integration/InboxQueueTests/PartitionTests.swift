import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// How many partitions there are, and what happens when no worker makes them.
struct PartitionTests {
    private func expectSome50Partitions(of database: TestDatabase) async throws {
        let counts = try await database.lines("SELECT count(*)::text FROM appstore.inbox_partitions GROUP BY parent").compactMap { Int($0) }
        #expect(counts.count == 2 && counts.allSatisfy { $0 <= 52 }, "\(counts)")
    }

    @Test func `what is kept for ever has some fifty partitions at a billion events`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.execute("UPDATE appstore.retention SET bodies = NULL", in: database)
        // Each half a million stands for its events.
        let fill = """
            INSERT INTO appstore.inbox (event_id, source, received_at, body)
            SELECT e, 'notification_v2', now(), '\\x01'
            FROM appstore.inbox_event_id AS s JOIN appstore.inbox_partitions AS p ON p.from_id <= s.last_value AND p.to_id > s.last_value,
                 unnest(ARRAY(SELECT generate_series(p.from_id + 1, p.to_id - 1, 500000)) || (p.to_id - 1)) AS e
            WHERE p.parent = 'inbox' ON CONFLICT DO NOTHING;
            """
        let outcomes = """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
            SELECT i.event_id, i.source, i.received_at, i.received_at, 1, 1, 'applied' FROM appstore.inbox AS i ON CONFLICT DO NOTHING;
            SELECT setval('appstore.inbox_event_id', (SELECT max(i.event_id) + 1 FROM appstore.inbox AS i));
            """
        repeat {
            _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
            try await MaintenanceBench.execute(fill + outcomes, in: database)
        } while try await database.lines("SELECT (last_value < 1000000000)::text FROM appstore.inbox_event_id") == ["true"]
        try await expectSome50Partitions(of: database)
    }

    /// Each step begins a partition of the inbox, as all of its events are older than an eighth of the age: by steps of three days more than a
    /// hundred, so that outcomes that were cut with the bodies would have too many. It has more than a hundred events: fewer would move to the
    /// default partition, and their own be dropped.
    @Test(arguments: [
        ("bodies = '24 days', outcomes = '365 days'", 3), ("bodies = '1 day'", 3), ("bodies = '90 days', outcomes = '2 years'", 12),
    ])
    func `four hundred days leave some fifty partitions, whatever the ages are`(ages: String, step: Int) async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.execute("UPDATE appstore.retention SET \(ages)", in: database)
        for day in stride(from: 0, to: 400, by: step) {
            try await MaintenanceBench.settled(101, result: "applied", age: "\(400 - day) days", in: database)
            _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
            if day % 24 == 0 { _ = try await MaintenanceBench.finish(.dropPartition, in: database) }
        }
        _ = try await MaintenanceBench.finish(.dropPartition, in: database)
        try await expectSome50Partitions(of: database)
        let old: Statement = "SELECT count(*)::text FROM appstore.outcomes WHERE settled_at < now() - interval '300 days'"
        #expect(try await database.lines(old) != ["0"])
    }

    @Test func `what comes while no worker makes partitions becomes one as it is`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(5000, result: "applied", age: "1 day", in: database)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_rest") == ["3000"])
        // The outcomes are within their larger partition.
        #expect(
            try await MaintenanceBench.prepare(in: database) == [
                "made outcomes_from_1016000", "made inbox_from_1002000", "made inbox_from_1005000", "made inbox_from_1006000",
            ]
        )
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_from_1002000") == ["3000"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["5000"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a large last partition is checked beside inserts before it becomes one, and the next events come behind it`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(150_000, result: "applied", age: "1 day", in: database)
        let prepare = { try await MaintenanceBench.step(.preparePartitions, in: database)?.did }
        for step in ["ended outcomes_rest", "checked outcomes_rest", "made outcomes_from_1016000"] { #expect(try await prepare() == step) }
        try await database.withConnection(user: "appstore_ingest") { ingest in
            try await ingest.withTransaction { transaction in
                _ = try await transaction.query("SELECT appstore.receive(\([[UInt8]]([[1]])))")
                #expect(try await prepare() == "checked inbox_rest", "the event that is being stored does not stop it")
                await #expect(throws: PostgresError.self, "the exclusive lock waits for the event") { _ = try await prepare() }
            }
        }
        #expect(try await prepare() == "made inbox_from_1002000")
        try await MaintenanceBench.execute("SELECT appstore.receive(ARRAY['x']::bytea[])", in: database)
        #expect(
            try await database.lines(
                """
                SELECT c.relname || ' ' || count(*) FROM appstore.inbox AS i JOIN pg_class AS c ON c.oid = i.tableoid
                GROUP BY c.relname ORDER BY min(i.event_id)
                """
            ) == ["inbox_from_1000000 1000", "inbox_from_1001000 1000", "inbox_from_1002000 148001", "inbox_rest 1"]
        )
        let constraints: Statement = "SELECT count(*)::text FROM pg_constraint WHERE conname = 'inbox_rest_ends'"
        #expect(try await database.lines(constraints) == ["0"])
        // The ids have advanced behind what came meanwhile, of both tables.
        _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
        let open: Statement = """
            SELECT p.partition FROM appstore.inbox_partitions AS p CROSS JOIN appstore.inbox_event_id AS s
            WHERE p.from_id < s.last_value AND NOT p.is_past AND p.to_id > s.last_value + 100000 AND p.partition !~ '_rest$'
            """
        #expect(try await database.lines(open) == [])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a last partition whose rows have gone before it becomes one is no obstacle`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(150_000, result: "applied", age: "1 day", in: database)
        let prepare = { try await MaintenanceBench.step(.preparePartitions, in: database)?.did }
        while try await prepare() != "checked inbox_rest" {}
        try await MaintenanceBench.execute("DELETE FROM appstore.inbox", in: database)
        #expect(try await prepare() == "made inbox_from_1002000")
        _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
        try await MaintenanceBench.settled(1, result: "applied", in: database)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["150001"])
    }

    /// With a threshold and a scale factor of 0 it visits a table after any insert; with ages of 0 it reads each page that is not all frozen, and
    /// freezes each row.
    @Test func `autovacuum is to freeze all of a closed partition whose rows are kept for years, and of its TOAST table`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.execute("UPDATE appstore.retention SET bodies = '5 years', outcomes = '6 years'", in: database)
        try await MaintenanceBench.settled(200, result: "applied", age: "2 years", in: database)
        let did = try await MaintenanceBench.finish(.preparePartitions, in: database).map(\.did)
        #expect(did.suffix(2) == ["will freeze inbox_first", "will freeze outcomes_first"])
        let settings = try await database.lines(
            """
            SELECT DISTINCT CASE WHEN p.is_past THEN 'closed' ELSE 'open' END || ': '
                   || array_to_string(ARRAY(SELECT o FROM unnest(c.reloptions) AS o WHERE o LIKE 'autovacuum%=0' ORDER BY o), ' ')
            FROM appstore.inbox_partitions AS p
            JOIN pg_class AS h ON h.oid = ('appstore.' || p.partition)::regclass
            JOIN pg_class AS c ON c.oid IN (h.oid, h.reltoastrelid) ORDER BY 1
            """
        )
        #expect(
            settings == [
                "closed: autovacuum_freeze_min_age=0 autovacuum_freeze_table_age=0 autovacuum_vacuum_insert_scale_factor=0 "
                    + "autovacuum_vacuum_insert_threshold=0",
                "open: ",
            ]
        )
    }

    @Test(arguments: [("90 days", false), ("360 days", false), ("400 days", true)])
    func `a partition whose rows go within a year is not written once more to freeze it`(bodies: String, isFrozen: Bool) async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.execute("UPDATE appstore.retention SET bodies = '\(bodies)', outcomes = '\(bodies)'", in: database)
        try await MaintenanceBench.settled(200, result: "applied", age: "80 days", in: database)
        let did = try await MaintenanceBench.finish(.preparePartitions, in: database).map(\.did)
        #expect(did.contains("closed inbox_first"))
        #expect(did.contains("will freeze inbox_first") == isFrozen)
    }

    @Test func `a new partition is like those that the schema begins with`() async throws {
        let database = try await InboxDatabase.make()
        _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
        let forms = try await database.lines(
            """
            SELECT DISTINCT concat_ws(' ', i.inhparent::regclass, c.reloptions, t.reloptions, c.relreplident,
                   (SELECT string_agg(concat_ws(' ', a.attname, a.attstorage, a.attcompression, a.attnotnull), ',' ORDER BY a.attname)
                    FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0),
                   (SELECT string_agg(pg_get_constraintdef(k.oid), ',' ORDER BY k.conname) FROM pg_constraint AS k
                    WHERE k.conrelid = c.oid AND k.contype = 'c'),
                   (SELECT count(*) FROM pg_index AS x WHERE x.indrelid = c.oid))
            FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
            WHERE i.inhparent IN ('appstore.inbox'::regclass, 'appstore.outcomes'::regclass)
            """
        )
        #expect(forms.count == 2, "\(forms)")
    }

    @Test func `autovacuum visits each table that grows before a fifth of it has died`() async throws {
        let database = try await InboxDatabase.make()
        let small = [
            "access_settings", "api_keys", "call_kinds", "certificates", "console_logins", "console_sessions", "consumption_policies",
            "feed_consumers",
            "feed_generations", "feed_head", "feed_switch", "fence", "fx_rates", "history_cursors", "live_since",
            "maintenance_state", "products", "reconcile_counts", "reconcile_walks", "redeliveries", "repairs", "retention",
            "schema_definitions", "schema_history",
        ]
        let late = try await database.lines(
            """
            SELECT c.relname::text FROM pg_class AS c
            WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r'
              AND NOT EXISTS (SELECT FROM unnest(c.reloptions) AS o WHERE o ~ '^autovacuum_vacuum_scale_factor=0') ORDER BY 1
            """
        )
        #expect(late == small, "a new table has settings in sql/tables, or is one of those that stay small")
    }
}
