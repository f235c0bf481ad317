import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Rows that change again and again leave old versions, which nobody may remove while a snapshot is held.
struct HeldSnapshotTests {
    /// Merges one renewal after the other of the same customer, and returns what the last ten read.
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

    @Test func `a merge reads no more because of them`() async throws {
        let database = try await PlanScene.make()
        try await PlanScene.fill(1...100, in: database)
        let reads = try await database.withConnection { connection in
            try await connection.withTransaction { transaction in
                try await transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                _ = try await transaction.query("SELECT count(*) FROM appstore.transactions")
                return try await self.reads(of: 400, in: database)
            }
        }
        for (table, reads) in reads {
            // The versions on one page share an index entry; with one each it would be hundreds for each merge.
            #expect(reads.entries <= 10 * 40, "\(reads.entries) entries of \(table) for ten merges")
            #expect(reads.pages <= 10 * 60, "\(reads.pages) pages of \(table) for ten merges")
        }
    }
}
