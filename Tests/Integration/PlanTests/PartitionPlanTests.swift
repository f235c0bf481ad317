import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What looks into all partitions after 400 days: the locks of a first execution, which plans for each of them, and the pages that it reads.
@Suite(.timeLimit(.minutes(5)))
struct PartitionPlanTests {
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
        Case(name: "explain", role: "appstore_operator", statement: "SELECT FROM appstore.explain(7)", part: 100, pages: 1),
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

    /// Ages that lead to many partitions of the outcomes, and of the inbox. Each step begins a partition, as its events are older than an eighth
    /// of the age of bodies.
    @Test(arguments: [("8 days", "365 days", 1), ("400 days", "400 days", 10)])
    func `locks and pages stay few`(bodies: String, outcomes: String, step: Int) async throws {
        let database = try await InboxDatabase.make()
        let partitions = try await live(bodies, outcomes, step, in: database)
        #expect(partitions <= 52)
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
                #expect(locks <= Self.lockTable / one.part, "\(one.name): \(locks) locks with \(partitions) partitions")
                await connection.close()
            }
            for table in ["inbox", "outcomes"] {
                let pages = reads[table]?.pages ?? 0
                #expect(pages <= one.pages * partitions + 20, "\(one.name): \(pages) pages of \(table) with \(partitions) partitions")
            }
        }
    }

    /// Settles 101 events in each step of 400 days, and makes and drops partitions by the functions of maintenance. A partition with fewer to
    /// keep would be dropped before its time. Returns how many partitions the larger of both tables has.
    private func live(_ bodies: String, _ outcomes: String, _ step: Int, in database: TestDatabase) async throws -> Int64 {
        try await database.withConnection { connection in
            try await connection.runScript("UPDATE appstore.retention SET bodies = '\(bodies)', outcomes = '\(outcomes)'")
            // A block that commits is a script of its own, and twenty steps take no script longer than a statement may.
            for last in stride(from: 400, through: 0, by: -20 * step) {
                try await connection.runScript(
                    """
                    DO $$
                    DECLARE
                        v_at timestamptz;
                    BEGIN
                        FOR v_day IN REVERSE \(last)..\(max(0, last - 20 * step + 1)) BY \(step) LOOP
                            v_at := clock_timestamp() - make_interval(days => v_day);
                            WITH stored AS (
                                INSERT INTO appstore.inbox (source, received_at, body)
                                SELECT 'notification_v2', v_at, '\\x01' FROM generate_series(1, 101) RETURNING event_id
                            )
                            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, environment,
                                                           original_transaction_id)
                            SELECT s.event_id, 'notification_v2', v_at, v_at, 1, 1, 'applied', 'Production', s.event_id::text FROM stored AS s;
                            LOOP
                                EXIT WHEN appstore.prepare_partitions() IS NULL;
                                COMMIT;
                            END LOOP;
                            LOOP
                                EXIT WHEN NOT EXISTS (SELECT FROM appstore.drop_aged_partition());
                                COMMIT;
                            END LOOP;
                            COMMIT;
                        END LOOP;
                    END $$
                    """
                )
            }
            try await connection.runScript(
                """
                INSERT INTO appstore.contracts (environment, original_transaction_id, user_id) VALUES ('Production', '7', 'user 7');
                ANALYZE;
                """
            )
            let rows = try await connection.query(
                "SELECT max(n) AS n FROM (SELECT count(*) AS n FROM appstore.inbox_partitions GROUP BY parent) AS p"
            )
            return try rows[0].decode("n", as: Int64.self)
        }
    }
}
