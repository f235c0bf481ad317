import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import SQL
import StoreSimulator
import Testing

extension EndToEnd {
    /// Daemons whose database has no schema, or that of another release.
    @Suite struct SchemaWaitTests {
        @Test func `daemons started on an empty database wait and work after migrate`() async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                let database = try await TestCluster.shared.makeDatabase()
                let adminPort = FreePort.find()
                let ingest = try await installation.startIngest(["APPSTORE_INBOX_DATABASE_URL": database.url(user: "appstore_ingest")])
                let worker = try await installation.startWorker(
                    for: shop,
                    [
                        "APPSTORE_INBOX_DATABASE_URL": database.url(user: "appstore_worker"),
                        "APPSTORE_INBOX_WORKER_ADMIN_LISTEN": "127.0.0.1:\(adminPort)",
                    ]
                )
                let admin = HTTPClient(port: adminPort)
                for client in [ingest.admin, admin] {
                    try await eventually("readyz says what to run") {
                        let answer = try await client.get("/readyz")
                        return answer.status == 503 && String(decoding: answer.body, as: UTF8.self).contains("run `appstore-inbox migrate`")
                    }
                }
                #expect(worker.log.components(separatedBy: "the database cannot be used").count == 2, "\(worker.log)")

                let result = try await Program.run(["migrate"], settings: ["APPSTORE_INBOX_DATABASE_URL": database.url()])
                #expect(result.ending == .exit(0), "\(result.errors)")
                for client in [ingest.admin, admin] {
                    try await eventually("ready") { try await client.get("/readyz").status == 200 }
                }
                #expect(try await ingest.client.post(try shop.body(try shop.purchases(1)[0])).status == 200)
                let sql = try SQLAccess(url: database.url())
                try await expectApplied(sql)
                await sql.close()
                #expect(try await worker.terminate() == .exit(0))
                #expect(try await ingest.daemon.terminate() == .exit(0))
                for log in [worker.log, ingest.daemon.log] {
                    let reason = #"reason=the database has no schema appstore: run `appstore-inbox migrate`"#
                    #expect(log.components(separatedBy: reason).count == 2, "\(log)")
                    // One of the test's root, and one more where the daemon asked while migrate was at work.
                    let others = log.split(separator: "\n").filter {
                        $0.contains(" WARNING: ") && !$0.contains(reason) && !$0.contains("is trusted for Production")
                    }
                    #expect(others.count <= 1 && others.allSatisfy { $0.contains("the schema appstore is not complete") }, "\(log)")
                    #expect(log.components(separatedBy: "the database can be used").count == 2, "\(log)")
                }
            }
        }

        @Test func `a raised schema contract stops a running worker until the contract is supported again`() async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                let sql = installation.sql
                let adminPort = FreePort.find()
                let worker = try await installation.startWorker(
                    for: shop,
                    ["APPSTORE_INBOX_WORKER_ADMIN_LISTEN": "127.0.0.1:\(adminPort)"]
                )
                let admin = HTTPClient(port: adminPort)
                try await eventually("ready") { try await admin.get("/readyz").status == 200 }

                try await sql.execute("UPDATE appstore.fence SET contract = contract + 1")
                let body = try shop.body(try shop.purchases(1)[0])
                try await sql.execute("SELECT appstore.receive(\([body]))")
                try await eventually("readyz says what to do") {
                    let answer = try await admin.get("/readyz")
                    return answer.status == 503 && String(decoding: answer.body, as: UTF8.self).contains("update the program")
                }
                #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 1)
                #expect(worker.isRunning)
                let version = SchemaManifest().version
                let trouble = Substring(
                    "STATUS=the database cannot be used: the schema is version \(version), this program knows \(version) "
                )
                try await eventually("systemd knows why") {
                    try await worker.systemdMessages(within: .seconds(1)).contains { $0.hasPrefix(trouble) }
                }

                try await sql.execute("UPDATE appstore.fence SET contract = contract - 1")
                try await expectApplied(sql)
                try await eventually("ready") { try await admin.get("/readyz").status == 200 }
                try await eventually("systemd knows that it works") {
                    try await worker.systemdMessages(within: .seconds(1)).contains("STATUS=processing events of \(shop.app.bundleID)")
                }
                #expect(try await worker.terminate() == .exit(0))
            }
        }

        @Test func `a worker of a later schema takes no event until migrate has run`() async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                let sql = installation.sql
                try await sql.execute("DELETE FROM appstore.schema_history")
                let body = try shop.body(try shop.purchases(1)[0])
                try await sql.execute("SELECT appstore.receive(\([body]))")
                let worker = try await installation.startWorker(for: shop)
                let version = SchemaManifest().version
                try await eventually("the log says what to run") {
                    worker.log.contains("the schema is version 0, this program knows \(version): run `appstore-inbox migrate`")
                }
                #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 1)
                try await sql.execute("INSERT INTO appstore.schema_history VALUES (\(Int32(version)), 'tables', false)")
                try await expectApplied(sql)
            }
        }

        private func expectApplied(_ sql: SQLAccess) async throws {
            try await eventually("the event is applied") {
                try await sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes WHERE result = 'applied'") == 1
            }
        }
    }
}
