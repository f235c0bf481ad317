import EndToEndTesting
import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema
import Testing

extension EndToEnd {
    /// Daemons of one release while the schema becomes that of the next, under load.
    @Suite struct UpgradeTests {
        @Test func `daemons work on through a step that is not breaking, and wait after a breaking one`() async throws {
            let shop = try Shop()
            // New columns in tables that each event writes, and an index of one that it reads.
            let next = try await SchemaManifest()
                .inserting(
                    "ALTER TABLE appstore.outcomes ADD COLUMN later text;\n",
                    before: "CREATE TABLE appstore.outcome_history",
                    in: "tables/20_inbox"
                )
                .inserting(
                    "CREATE INDEX contracts_later ON appstore.contracts (bundle_id);\n",
                    before: "CREATE TABLE appstore.api_keys",
                    in: "tables/60_shop"
                )
                .withFingerprint()
                .adding(
                    "-- concurrently\nVALUES ('CREATE INDEX CONCURRENTLY IF NOT EXISTS contracts_later ON appstore.contracts (bundle_id)')"
                )
                .adding(
                    "ALTER TABLE appstore.outcomes ADD COLUMN later text; ALTER TABLE appstore.outcome_history ADD COLUMN later text;",
                    name: "later"
                )
            try await Installation.lend { installation in
                let (sql, database) = (installation.sql, installation.database)
                let ingest = try await installation.startIngest()
                let worker = try await installation.startWorker(for: shop)
                let load = { (seed: UInt64) in
                    Load(shop: try Shop(seed: seed, authority: shop.authority), clients: 3, port: ingest.client.port)
                }

                var seen = try await load(1).run {
                    try await settle(60, sql)
                    #expect(try await database.migrate(next).steps.count == 2)
                    try await settle(60, sql)
                }
                #expect(Set(seen.statuses.keys) == [200], "\(seen.statuses)")

                let breaking = next.adding("-- breaking\nSELECT 1;", name: "break")
                seen.merge(
                    try await load(2).run {
                        try await settle(60, sql)
                        #expect(try await database.migrate(breaking).steps == [SchemaManifest.step(3, "break")])
                        try await eventually("the old worker says what to do") {
                            worker.log.contains(
                                "the schema is version \(breaking.version), this program knows \(SchemaManifest().version) and cannot work with a change since then: update the program"
                            )
                        }
                        try await eventually("ingest stores nothing") { try await ingest.admin.get("/readyz").status == 503 }
                    }
                )
                #expect(Set(seen.statuses.keys).isSubset(of: [200, 503]), "\(seen.statuses)")
                #expect(worker.isRunning && ingest.daemon.isRunning)
                let settled = try await sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes")

                // What a program of the next release finds is its own contract.
                try await sql.execute("UPDATE appstore.fence SET contract = \(SchemaManifest().contract)")
                try await eventually("the backlog is drained", within: .seconds(60)) {
                    try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 0
                }
                #expect(try await sql.missing(seen.bodies) == 0)
                #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes") >= max(settled, seen.bodies.count))
                let results = try await sql.values("SELECT DISTINCT concat_ws(' ', result, attempts) FROM appstore.outcomes")
                #expect(results == ["applied 1"])
                #expect(try await worker.terminate() == .exit(0))
                #expect(try await ingest.daemon.terminate() == .exit(0))
            }
        }

        /// Waits until the worker has settled that many more events.
        private func settle(_ count: Int, _ sql: SQLAccess) async throws {
            let before = try await sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes")
            try await eventually("\(count) more events are settled", within: .seconds(60)) {
                try await sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes") >= before + count
            }
        }
    }
}
