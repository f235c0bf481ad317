import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Rows that change often leave old versions, which vacuum cannot remove while a snapshot is held.
struct HeldSnapshotTests {
    /// Merges successive renewals of one customer, and returns the reads of the last ten.
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
        _ = try await merge(1...merges - 10)
        return try await merge(merges - 9...merges)
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
            let (entries, pages) = table == "contracts" ? (25 * lookups, 30 * lookups) : (40, 60)
            #expect(reads.entries <= 10 * entries, "\(reads.entries) entries of \(table) for ten merges")
            #expect(reads.pages <= 10 * pages, "\(reads.pages) pages of \(table) for ten merges")
        }
        let found = try await database.lines("SELECT is_contested::text FROM appstore.contracts WHERE original_transaction_id = '7'")
        #expect(found == ["\(isContested)"])
    }
}
