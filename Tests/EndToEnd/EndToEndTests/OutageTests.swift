import EndToEndTesting
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
    @Suite struct OutageTests {
        /// How PostgreSQL becomes unavailable.
        enum Outage: CaseIterable {
            case killed, stopped
        }

        @Test(arguments: Outage.allCases)
        func `no body answered with 200 is lost when PostgreSQL is restarted under load`(outage: Outage) async throws {
            let shop = try Shop()
            let cluster = try await TestCluster.startPrivate()
            try await Installation.lend(on: cluster) { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                let worker = try await installation.startWorker(for: shop)

                let seen = try await Load(shop: shop, clients: 3, port: ingest.client.port).run {
                    try await grow(sql, to: 60)
                    switch outage {
                    case .killed: await cluster.kill()
                    case .stopped: await cluster.stop()
                    }
                    try await expectUnavailable(ingest, shop)
                    try await cluster.launch()
                    try await eventually("ingest has recovered") { try await ingest.admin.get("/readyz").status == 200 }
                    try await grow(sql, to: try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") + 60)
                }

                #expect(worker.isRunning && ingest.daemon.isRunning)
                #expect(Set(seen.statuses.keys).isSubset(of: [200, 503]), "\(seen.statuses)")
                #expect(seen.statuses[503, default: 0] > 0)
                #expect(try await sql.missing(seen.bodies) == 0)
                try await expectEachAppliedOnce(seen.uuids, sql)
                #expect(try await worker.terminate() == .exit(0))
                #expect(try await ingest.daemon.terminate() == .exit(0))
            }
            await cluster.stop()
        }

        @Test func `daemons wait for an unavailable database and end on SIGTERM`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let nowhere = ["APPSTORE_INBOX_DATABASE_URL": "postgresql://appstore_ingest@127.0.0.1:\(FreePort.find())/nowhere"]
                let ingest = try await installation.startIngest(nowhere)
                let worker = try await installation.startWorker(for: shop, nowhere)
                try await expectUnavailable(ingest, shop)
                #expect(worker.isRunning)
                #expect(try await worker.terminate() == .exit(0))
                #expect(try await ingest.daemon.terminate() == .exit(0))
            }
        }

        private func grow(_ sql: SQLAccess, to count: Int) async throws {
            try await eventually("\(count) events are stored") {
                try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") >= count
            }
        }

        /// Without PostgreSQL every notification is answered with 503, readyz fails, and the process keeps running.
        private func expectUnavailable(_ ingest: Ingest, _ shop: Shop) async throws {
            var shop = try Shop(seed: 99, authority: shop.authority)
            for _ in 0..<5 {
                let answer = try await ingest.client.post(try shop.body(try shop.purchases(1)[0]))
                #expect(answer.status == 503)
                #expect(["database-unavailable", "not-committed"].contains(answer.problem))
                #expect(answer.fields["retry-after"].flatMap { Int($0) } ?? 0 > 0)
            }
            #expect(try await ingest.admin.get("/readyz").status == 503)
            #expect(try await ingest.admin.get("/livez").status == 200)
            #expect(try await ingest.client.get("/livez").status == 200)
        }

        /// Each notification answered with 200 is applied by one event; its other events are duplicates.
        private func expectEachAppliedOnce(_ uuids: Set<String>, _ sql: SQLAccess) async throws {
            try await eventually("the worker has recovered and drained the inbox") {
                try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 0
            }
            let events = try await sql.events()
            #expect(Set(events.compactMap(\.outcome)).isSubset(of: ["applied", "duplicate"]))
            #expect(events.allSatisfy { $0.attempts == 1 }, "an outage must not count as an attempt")
            let applied = events.filter { $0.outcome == "applied" }.compactMap(\.notificationUUID)
            #expect(Set(applied).count == applied.count, "a notification was applied twice")
            #expect(uuids.subtracting(applied).isEmpty)
            #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.effects") == applied.count)
        }
    }
}
