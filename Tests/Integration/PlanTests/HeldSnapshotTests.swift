import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Rows that change often leave old versions, which vacuum cannot remove while a snapshot is held.
struct HeldSnapshotTests {
    /// Merges successive renewals of one customer, and returns the reads of ten merges: the least of the last three tens. Where the sessions of
    /// other databases change many tables at once, a session drops what it keeps of its own, and reads some pages again.
    private func reads(of merges: Int, in database: TestDatabase) async throws -> [String: TableReads] {
        func merge(_ periods: ClosedRange<Int>) async throws -> [String: TableReads] {
            try await database.reads(by: "merge") {
                var options = try ConnectionOptions(database.url(user: "appstore_worker"))
                options.applicationName = "merge"
                let pool = ConnectionPool(options: options, configuration: .init(maxConnections: 1), logger: .silent)
                for period in periods { try await PlanCase.merge([PlanCase.renewal(of: 7, period: period)], in: pool) }
                await pool.close()
            }
        }
        _ = try await merge(1...merges - 30)
        var least = try await merge(merges - 29...merges - 20)
        for last in [merges - 10, merges] {
            least.merge(try await merge(last - 9...last), uniquingKeysWith: TableReads.least)
        }
        return least
    }

    /// A renewal is derived in one statement, unless the contract has posts or a register of Notifications V1.
    @Test(arguments: [(false, Int64(2)), (true, 6)])
    func `old row versions do not make a merge read more`(isContested: Bool, lookups: Int64) async throws {
        let database = try await PlanScene.make()
        try await PlanScene.fill(1...100, in: database)
        let reads = try await database.withConnection { connection in
            if !isContested {
                try await connection.runScript("TRUNCATE appstore.client_posts, appstore.v1_renewals")
            }
            return try await connection.withTransaction { transaction in
                try await transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                _ = try await transaction.query("SELECT count(*) FROM appstore.transactions")
                return try await self.reads(of: 400, in: database)
            }
        }
        for (table, reads) in reads {
            // The versions on one page share an index entry; otherwise each merge would read many hundreds of entries. A merge writes a
            // contract's row twice, for its register and its derivation: each look-up reads the entries of 800 versions, forty on a page.
            // The claims of a contested contract depend on the tokens of all its purchases, four hundred here.
            let (entries, pages) =
                switch table {
                case "contracts": (25 * lookups, 30 * lookups)
                case "transactions" where isContested: (450, 180)
                default: (40, 60)
                }
            #expect(reads.entries <= 10 * entries, "\(reads.entries) entries of \(table) for ten merges")
            #expect(reads.pages <= 10 * pages, "\(reads.pages) pages of \(table) for ten merges")
        }
        let found = try await database.lines("SELECT is_contested::text FROM appstore.contracts WHERE original_transaction_id = '7'")
        #expect(found == ["\(isContested)"])
    }

    /// Two pages of an answer may be far apart: between their events is what others have sent, settled or not.
    @Test(arguments: [true, false]) func `users of an import read what is beside their answer once`(isSettled: Bool) async throws {
        let database = try await PlanScene.make()
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                INSERT INTO appstore.import_items (import_id, line, environment, is_given, id, user_id, state, event_id, last_event_id)
                SELECT 1, n, 'Production', true, n::text, 'u', 'covered', 1, 5000 FROM generate_series(1, 200) AS n;
                INSERT INTO appstore.import_chunks (import_id, first_line, end_line, phase, environment, link_at)
                VALUES (1, 1, 201, 'link', 'Production', now());
                INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT n, now(), 20 FROM generate_series(1, 5000) AS n;
                """
            )
        }
        let reads = try await database.withConnection { connection in
            try await connection.withTransaction { transaction in
                try await transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                _ = try await transaction.query("SELECT count(*) FROM appstore.imports")
                if isSettled { try await database.withConnection { _ = try await $0.query("DELETE FROM appstore.inbox_queue") } }
                return try await database.reads(by: "link") {
                    var options = try ConnectionOptions(database.url(user: "appstore_worker"))
                    options.applicationName = "link"
                    let pool = ConnectionPool(options: options, configuration: .init(maxConnections: 1), logger: .silent)
                    _ = try await pool.withConnection { try await $0.query("SELECT appstore.link_import_owners()") }
                    await pool.close()
                }
            }
        }
        let entries = try #require(reads["inbox_queue"]).entries
        #expect(entries <= (isSettled ? 5000 : 10), "\(entries) entries of the queue")
        let waiting = try await database.lines("SELECT count(*)::text FROM appstore.import_items WHERE reason IS NULL")
        #expect(waiting == [isSettled ? "0" : "200"])
    }
}
