import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What looks into all of some fifty partitions: the locks of a first execution, which plans for each of them, and the pages that it reads.
struct PartitionPlanTests {
    /// How many partitions both tables have, with the first, the last and the default one.
    private static let partitions: Int64 = 50
    /// By default the lock table of a server has room for 64 locks of each of a hundred connections.
    private static let lockTable: Int64 = 6400

    private struct Case {
        let name: String
        let role: String
        let statement: Statement
        /// It takes at most this part of the lock table: one of twenty, for example.
        let part: Int64
        /// The most pages that it reads of the inbox or of the outcomes for each of their partitions, most of them to plan: a page of each index.
        let pages: Int64
    }

    private static let cases = [
        Case(
            name: "outcomes of a contract",
            role: "appstore_worker",
            statement: "SELECT FROM appstore.outcomes WHERE original_transaction_id = '7'",
            part: 16,
            pages: 10
        ),
        Case(
            name: "the outcome of an event",
            role: "appstore_worker",
            statement: "SELECT FROM appstore.outcomes WHERE event_id = 7",
            part: 100,
            pages: 1
        ),
        // It looks into thirty relations with their indexes, and into one partition of each of the two tables.
        Case(name: "explain", role: "appstore_operator", statement: "SELECT FROM appstore.explain(7)", part: 64, pages: 1),
        Case(
            name: "timeline",
            role: "appstore_operator",
            statement: "SELECT FROM appstore.timeline('Production', '7')",
            part: 12,
            pages: 16
        ),
        // It calls heard_at.
        Case(
            name: "may_be_called",
            role: "appstore_worker",
            statement: "SELECT appstore.may_be_called('Production', 'a:7')",
            part: 12,
            pages: 40
        ),
        // It looks for the posts and the events of the user in both tables. The last case, as it changes them.
        Case(
            name: "forget",
            role: "appstore_operator",
            statement: "SELECT FROM appstore.forget('user 7', 'ticket 1')",
            part: 5,
            pages: 40
        ),
    ]

    @Test func `locks and pages stay few with fifty partitions of both tables`() async throws {
        let database = try await makeDatabase()
        try await database.withConnection { try await $0.runScript("ANALYZE") }
        for one in Self.cases {
            let reads = try await database.reads(by: one.name) {
                var options = try ConnectionOptions(database.url(user: one.role))
                options.applicationName = one.name
                let connection = try await Connection.open(options, logger: .silent)
                let locks = try await connection.withTransaction { transaction in
                    _ = try await transaction.query(one.statement)
                    let rows = try await transaction.query("SELECT count(*) AS n FROM pg_locks WHERE pid = pg_backend_pid()")
                    return try rows[0].decode("n", as: Int64.self)
                }
                #expect(locks <= Self.lockTable / one.part, "\(one.name): \(locks) locks")
                await connection.close()
            }
            for table in ["inbox", "outcomes"] {
                let pages = reads[table]?.pages ?? 0
                #expect(pages <= one.pages * Self.partitions + 20, "\(one.name): \(pages) pages of \(table)")
            }
        }
    }

    /// Nothing analyses the catalogue before a step, nor tables with one row.
    @Test(arguments: ["appstore.prepare_partitions()", "appstore.drop_aged_partition()", "appstore.storage_statistics()"])
    func `maintenance looks at each partition once, without statistics`(function: String) async throws {
        let database = try await makeDatabase()
        let pages = try await database.withConnection(user: "appstore_worker") { connection in
            var pages = 0
            // The first step fills the caches of the session.
            for _ in 0..<2 {
                let plan = try await connection.query("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT \(unsafeRaw: function)")
                pages = try Self.pages(in: plan[0].decode(0))
            }
            return pages
        }
        #expect(pages <= 400 * 2 * Int(Self.partitions), "\(pages) pages")
    }

    private static func pages(in plan: JSONText) throws -> Int {
        let entries = try JSONSerialization.jsonObject(with: Data(plan.text.utf8)) as? [[String: Any]]
        let node = try #require(entries?.first?["Plan"] as? [String: Any])
        return try #require(node["Shared Hit Blocks"] as? Int) + #require(node["Shared Read Blocks"] as? Int)
    }

    /// A database whose partitions hold 101 events each, but for the last ones: those of a hundred would move to the default one.
    private func makeDatabase() async throws -> TestDatabase {
        let database = try await InboxDatabase.make()
        let cut = Self.partitions - 2
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                UPDATE appstore.retention SET partition_events = 1000;
                SET ROLE appstore_owner;
                DROP TABLE appstore.inbox_rest, appstore.outcomes_rest;
                DO $$
                DECLARE
                    v_parent text;
                BEGIN
                    FOREACH v_parent IN ARRAY '{inbox,outcomes}'::text[] LOOP
                        FOR n IN 1..\(cut) LOOP
                            EXECUTE format(
                                'CREATE TABLE appstore.%I PARTITION OF appstore.%I FOR VALUES FROM (%s) TO (%s)',
                                v_parent || CASE n WHEN \(cut) THEN '_rest' ELSE '_from_' || n * 1000000 END, v_parent, n * 1000000,
                                CASE n WHEN \(cut) THEN 'MAXVALUE' ELSE ((n + 1) * 1000000)::text END);
                        END LOOP;
                    END LOOP;
                END $$;
                RESET ROLE;
                WITH stored AS (
                    INSERT INTO appstore.inbox (event_id, source, received_at, body)
                    SELECT p * 1000000 + n, 'notification_v2', now() - interval '1 day', '\\x01'
                    FROM generate_series(0, \(cut - 3)) AS p, generate_series(1, 101) AS n RETURNING event_id, source, received_at
                )
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, environment,
                                               original_transaction_id)
                SELECT s.event_id, s.source, s.received_at, s.received_at, 1, 1, 'applied', 'Production', s.event_id::text FROM stored AS s;
                SELECT setval('appstore.inbox_event_id', (SELECT max(event_id) FROM appstore.inbox));
                INSERT INTO appstore.contracts (environment, original_transaction_id, user_id) VALUES ('Production', '7', 'user 7');
                """
            )
            let counts = try await connection.query("SELECT count(*) AS n FROM appstore.inbox_partitions GROUP BY parent")
            #expect(try counts.map { try $0.decode("n", as: Int64.self) } == [Self.partitions, Self.partitions])
        }
        return database
    }
}
