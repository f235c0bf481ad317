import EndToEndTesting
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
    @Suite struct CrashTests {
        @Test(arguments: ["transactions", "effect_log", "outcomes"])
        func `a worker killed during a batch loses no event and applies none twice`(table: String) async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(30))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await ingest.client.post(bodies)

                try await sql.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE appstore.\(identifier: table) IN SHARE MODE")
                    let worker = try await installation.startWorker(for: shop)
                    try await eventually("the worker waits for \(table) inside its batch") {
                        try await sql.value(
                            Bool.self,
                            "SELECT EXISTS (SELECT FROM pg_catalog.pg_locks WHERE NOT granted AND relation = \("appstore." + table)::regclass)"
                        )
                    }
                    let free = try await sql.value(
                        Int.self,
                        "SELECT count(*) FROM (SELECT FROM appstore.inbox_queue FOR UPDATE SKIP LOCKED) AS free"
                    )
                    #expect(free < bodies.count, "the worker has claimed nothing")
                    try await worker.kill()
                    #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == bodies.count)
                }

                _ = try await installation.startWorker(for: shop)
                let events = try await sql.settled(bodies.count)
                try await expectEachAppliedOnce(events, sql)
            }
        }

        @Test func `a worker killed repeatedly drains the inbox`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(90))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await ingest.client.post(bodies)
                for round in 1...3 {
                    let worker = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_BATCH_SIZE": "2"])
                    try await eventually("the worker has settled some more") {
                        try await sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes") >= round * 20
                    }
                    try await worker.kill()
                    try await sql.expectEachEventAccountedFor()
                }
                _ = try await installation.startWorker(for: shop)
                let events = try await sql.settled(bodies.count)
                try await expectEachAppliedOnce(events, sql)
            }
        }

        @Test func `an ingest killed under load has stored every body that it answered with 200`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let load = Load(shop: shop, clients: 3, port: ingest.client.port)
                let accepted = try await load.run {
                    try await eventually("the load has begun") {
                        try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") >= 60
                    }
                    try await ingest.daemon.kill()
                }
                #expect(accepted.bodies.count >= 50)
                #expect(try await installation.sql.missing(accepted.bodies) == 0)
            }
        }

        @Test func `a daemon that receives SIGTERM as soon as it is ready ends with 0`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                for _ in 1...4 {
                    let worker = try await installation.startWorker(for: shop)
                    #expect(try await worker.terminate() == .exit(0))
                    let ingest = try await installation.startIngest()
                    #expect(try await ingest.daemon.terminate() == .exit(0))
                }
            }
        }

        private func expectEachAppliedOnce(_ events: [EventStatus], _ sql: SQLAccess) async throws {
            #expect(events.allSatisfy { $0.outcome == "applied" && $0.attempts == 1 }, "\(events.filter { $0.outcome != "applied" })")
            #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.transactions") == events.count)
            #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.orders WHERE status = 'paid'") == events.count)
            #expect(try await sql.values("SELECT kind FROM appstore.effects") == events.map { _ in "granted" })
            #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.outcome_history") == 0)
        }
    }
}
