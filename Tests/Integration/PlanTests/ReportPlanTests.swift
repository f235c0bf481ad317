import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What reports read of a contract beside its charges.
struct ReportPlanTests {
    /// The index of a contract's charges has their ends: each week's seats are compared with what runs then, not with all of 250 weeks.
    @Test func `of a group to which seats are added each week, reports read no more the older it is`() async throws {
        let database = try await PlanScene.make()
        try await PlanScene.fill(1...1_000, in: database)
        try await database.withConnection { try await $0.runScript("\(PlanScene.group); ANALYZE") }
        let reads = try await database.reads(by: "reports") {
            var options = try ConnectionOptions(database.url(user: "appstore_reporter"))
            options.applicationName = "reports"
            let pool = ConnectionPool(options: options, configuration: .init(maxConnections: 1), logger: .silent)
            let added = try await pool.withConnection {
                try await $0.query("SELECT count(*) AS added FROM appstore_reports.corrections() WHERE period_start IS NOT NULL")
            }
            #expect(try added[0].decode("added", as: Int64.self) == 250)
            await pool.close()
        }
        // The table may be read from end to end twice. Comparing each of the 250 with all before it would read 62,500 entries more.
        let entries = try #require(reads["transactions"]).entries
        #expect(entries <= 2 * 1_500 + 250 * 8, "\(entries) entries")
    }
}
