import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import SQL
import StoreSimulator
import StoreSimulatorServer
import Testing

extension EndToEndInterfaces {
    /// `doctor` on installations that are well, and on those that are not.
    @Suite struct DoctorCommandTests {
        /// What one run of the command found.
        struct Findings {
            let ending: Ending
            let output: String
            let document: JSONDocument

            /// Of the subjects that are not well: the status and what was found.
            var troubles: [String: String] {
                let troubles = document.documents("findings").filter { $0.text("status") != "ok" }
                return Dictionary(
                    troubles.map { ($0.text("subject") ?? "", "\($0.text("status") ?? ""): \($0.text("found") ?? "")") },
                    uniquingKeysWith: { "\($0)\n\($1)" }
                )
            }

            func found(_ subject: String) -> String? {
                document.documents("findings").first { $0.text("subject") == subject }?.text("found")
            }

            func subjects(in group: String) -> [String] {
                document.documents("findings").filter { $0.text("group") == group }.compactMap { $0.text("subject") }
            }
        }

        private func examine(_ arguments: [String], _ settings: [String: String] = [:]) async throws -> Findings {
            let result = try await Program.run(["doctor", "--json"] + arguments, settings: settings)
            guard !result.output.isEmpty else { throw ProgramFailure(what: "doctor ended with \(result.ending)", log: result.errors) }
            #expect(result.errors.isEmpty, "\(result.errors)")
            return Findings(ending: result.ending, output: result.output, document: try result.json())
        }

        /// The addresses of an installation, in a file as the units read it.
        private func writeSettings(_ settings: [String: String], _ installation: Installation) throws -> String {
            let path = installation.folder.appending(path: "appstore-inbox.env").path
            try Data(settings.map { "\($0.key)=\($0.value)\n" }.joined().utf8).write(to: URL(filePath: path))
            return path
        }

        private func freeAddress() -> String { "127.0.0.1:\(FreePort.find())" }

        @Test func `nothing is wrong with an installation that works, and each trouble is named`() async throws {
            var shop = try Shop(environment: .sandbox)
            let cluster = try await TestCluster.startPrivate(settings: ["fsync": "on"])
            try await Installation.lend(on: cluster) { installation in
                let settings = [
                    "APPSTORE_INBOX_APPS": shop.app.bundleID, "APPSTORE_INBOX_EXTRA_ROOTS": try installation.rootPath(of: shop),
                    "APPSTORE_INBOX_LISTEN": freeAddress(), "APPSTORE_INBOX_ADMIN_LISTEN": freeAddress(),
                    "APPSTORE_INBOX_API_LISTEN": "unix:\(installation.folder.path)/api",
                    "APPSTORE_INBOX_WORKER_ADMIN_LISTEN": freeAddress(),
                    "APPSTORE_INBOX_SHARED_SECRETS": "\(shop.app.bundleID)=WhatOnlyAppleKnows",
                ]
                let arguments = ["--config", try writeSettings(settings, installation), "--database-url"]
                let viewer = arguments + [installation.database.url(user: "appstore_viewer")]
                let api = ["APPSTORE_INBOX_API_DATABASE_URL": installation.database.url(user: "appstore_api")]
                let ingest = try await installation.startIngest(settings.merging(api) { $1 })
                let worker = try await installation.startWorker(settings)
                let port = try #require(settings["APPSTORE_INBOX_LISTEN"]?.split(separator: ":").last.flatMap { Int($0) })
                _ = try await HTTPClient(port: port).post(try shop.bodies(shop.purchases(1)))
                _ = try await installation.sql.settled(1)

                let well = try await examine(viewer)
                #expect(well.troubles == [:])
                #expect(well.ending == .exit(0))
                #expect(well.subjects(in: "roles").count == 6)
                #expect(well.subjects(in: "listeners") == ["notifications", "admin", "worker admin", "API"])
                #expect(
                    well.subjects(in: "disk")
                        == ["size", "growth", "partitions", "partition counts", "last partitions", "retention"]
                )
                #expect(!well.output.contains("WhatOnlyAppleKnows"))
                #expect(try await examine(arguments + [installation.database.url(user: "appstore_operator")]).ending == .exit(0))

                let inside = try await examine(viewer + ["--url", "http://127.0.0.1:\(port)"])
                #expect(inside.troubles == ["TLS of 127.0.0.1": "failure: the URL has none"])

                try await expectTroubles(installation, viewer)
                #expect(try await worker.terminate() == .exit(0))
                #expect(try await ingest.daemon.terminate() == .exit(0))
                let down = try await examine(viewer)
                #expect(down.ending == .exit(2))
                for subject in well.subjects(in: "listeners") {
                    #expect(down.troubles[subject]?.hasPrefix("failure: ") == true, "\(subject): \(down.output)")
                }
                for role in ["appstore_ingest", "appstore_worker"] {
                    #expect(down.troubles[role]?.contains("failure: has no session") == true, "\(down.output)")
                }
            }
            await cluster.stop()
        }

        /// Breaks one thing after another, and mends it.
        private func expectTroubles(_ installation: Installation, _ viewer: [String]) async throws {
            let sql = installation.sql
            try await sql.execute("ALTER ROLE appstore_viewer SET statement_timeout = '1h'")
            try await sql.execute("REVOKE EXECUTE ON FUNCTION appstore.settle FROM appstore_worker")
            try await sql.execute("UPDATE appstore.outcomes SET result = 'failed', reason = 'statement_timeout'")
            try await sql.execute("CREATE INDEX by_hand ON appstore.token_orders (user_id)")
            let changed = try await examine(viewer)
            #expect(changed.ending == .exit(2))
            // The worker may have noticed already, too.
            #expect(
                changed.troubles.filter { $0.key != "worker admin" } == [
                    "appstore_viewer": "warning: lacks the settings statement_timeout=30s",
                    "appstore_worker": "failure: may not execute appstore.settle", "failed events": "warning: 1",
                    "last notification": "warning: none has come yet",
                    "schema objects": "warning: different: privileges of appstore_worker",
                ]
            )
            try await sql.execute("DELETE FROM appstore.schema_history")
            let older = try await examine(viewer)
            #expect(older.troubles["schema"] == "failure: the schema is version 0, this program knows \(SchemaManifest().version)")
            #expect(older.subjects(in: "inbox").contains("failed events"))
        }

        @Test func `what the server runs out of, and what it writes without need, is named`() async throws {
            let cluster = try await TestCluster.startPrivate(settings: ["autovacuum_freeze_max_age": "100000", "max_connections": "100"])
            try await Installation.lend(on: cluster) { installation in
                let sql = installation.sql
                let viewer = ["--database-url", installation.database.url(user: "appstore_viewer")]
                let subjects: Set = ["checkpoints", "lock slots", "transaction ids", "partition counts", "last partitions"]
                let well = try await examine(viewer)
                #expect(well.troubles.keys.filter(subjects.contains) == [])
                #expect(subjects.isSubset(of: well.subjects(in: "database") + well.subjects(in: "disk")))
                #expect(well.found("wal_compression") == "off, which matters in a large database")
                #expect(well.found("partition counts")?.hasPrefix("feed 0, inbox ") == true)
                #expect(well.found("last partitions") == "empty")

                for _ in 0..<21 { try await sql.execute("CHECKPOINT") }
                try await sql.execute("ALTER SYSTEM SET wal_compression = pglz")
                try await sql.execute("SELECT pg_reload_conf()")
                try await sql.execute("ALTER TABLE appstore.outcomes DETACH PARTITION appstore.outcomes_rest")
                for number in 1...60 {
                    try await sql.execute(
                        """
                        CREATE TABLE appstore.outcomes_\(unsafeRaw: "\(number)") PARTITION OF appstore.outcomes
                        FOR VALUES FROM (\(unsafeRaw: "\(number)0000000")) TO (\(unsafeRaw: "\(number + 1)0000000"))
                        """
                    )
                }
                try await sql.execute(
                    """
                    INSERT INTO appstore.inbox (event_id, source, received_at, body)
                    SELECT 90000000000 + n, 'notification_v2', now(), decode(repeat('00', 4194304), 'hex') FROM generate_series(1, 25) AS n
                    """
                )
                try await sql.withTransaction { holder in
                    // It keeps vacuum from freezing what is younger, and more than half of the 6,400 slots are its locks.
                    _ = try await holder.query(
                        "SELECT pg_current_xact_id()::text, count(pg_advisory_xact_lock(n)) FROM generate_series(1, 3300) AS n"
                    )
                    try await sql.execute("DO $$ BEGIN FOR i IN 1..130000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
                    let ill = try await examine(viewer)
                    for subject in subjects {
                        #expect(ill.troubles[subject]?.hasPrefix("warning: ") == true, "\(subject): \(ill.found(subject) ?? "")")
                    }
                    #expect(ill.troubles["last partitions"]?.contains(" MB: no worker has made") == true)
                    #expect(ill.troubles["partition counts"]?.contains("outcomes 6") == true)
                    #expect(ill.found("wal_compression") == "pglz")
                    #expect(ill.ending == .exit(2), "no daemon runs")
                }
                // They have no place in the queue.
                try await sql.execute("DELETE FROM appstore.inbox")
            }
            await cluster.stop()
        }

        @Test func `without a database everything else is checked, and no secret is printed`() async throws {
            let secret = "correct-horse-battery"
            let admin = freeAddress()
            let settings = [
                "APPSTORE_INBOX_DATABASE_URL": "postgresql://user:\(secret)@\(freeAddress())/nowhere",
                "APPSTORE_INBOX_APPS": "com.example.tides",
                "APPSTORE_INBOX_LISTEN": "junk", "APPSTORE_INBOX_ADMIN_LISTEN": admin, "APPSTORE_INBOX_BATCH_SIZE": "many",
                "APPSTORE_INBOX_LISTN": "127.0.0.1:1", "APPSTORE_INBOX_SHARED_SECRETS": "com.example.dunes=\(secret)",
            ]
            let found = try await examine([], settings)
            #expect(found.ending == .exit(2))
            #expect(!found.output.contains(secret))
            let troubles = found.troubles
            #expect(troubles["server"]?.hasPrefix("failure: cannot be used: ") == true)
            for subject in ["schema", "limits", "roles", "inbox", "disk"] {
                #expect(troubles[subject] == "warning: not checked: there is no connection to the database")
            }
            #expect(troubles["admin"] == "failure: \(admin) does not answer: Connection refused")
            #expect(troubles["notifications"]?.hasPrefix("warning: not checked: ") == true)
            let wrong = try #require(troubles["settings"]?.split(separator: "\n"))
            #expect(wrong.count == 4, "\(wrong)")
            #expect(wrong.contains(#"failure: APPSTORE_INBOX_BATCH_SIZE: must be a whole number from 1 to 1000, not "many""#))
            #expect(wrong.contains("warning: APPSTORE_INBOX_LISTN is not a setting: did you mean APPSTORE_INBOX_LISTEN?"))
            let text = try await Program.run(["doctor"], settings: settings)
            #expect(text.ending == .exit(2))
            #expect(!text.output.contains(secret) && !text.output.contains("\u{1B}"))
            #expect(text.output.contains("\n  failure  admin "))
        }

        @Test func `a file and a database that nothing names are said to be missing`() async throws {
            let found = try await examine(["--config", "/nonexistent.env"])
            #expect(found.troubles["settings"] == "failure: /nonexistent.env cannot be read: there is no such file")
            #expect(found.troubles["server"]?.hasPrefix("warning: not checked: database-url is missing") == true)
        }

        @Test func `the certificate of the public URL is checked`() async throws {
            let now = Timestamp(millisecondsSince1970: Int64(Date.now.timeIntervalSince1970 * 1000))
            var configuration = VerifyReceiptServer.Configuration { now }
            let identity = try SimulatedHostIdentity.generate(around: now)
            configuration.identity = identity
            let server = try await VerifyReceiptServer.start(SimulatedReceiptStore(), configuration)
            let url = try #require(server.address(of: .production))
            let root = FileManager.default.temporaryDirectory.appending(path: "doctor-root-\(UUID().uuidString).pem")
            try Data(identity.rootPEM.utf8).write(to: root)
            defer { try? FileManager.default.removeItem(at: root) }
            let trusting = try await examine(["--url", url], ["APPSTORE_INBOX_OUTBOUND_ROOTS": root.path])
            #expect(trusting.subjects(in: "listeners").contains("TLS of localhost"))
            #expect(trusting.troubles["TLS of localhost"] == nil)
            #expect(trusting.troubles["POST"]?.contains("the URL does not lead to ingest") == true)
            let mistrusting = try await examine(["--url", url])
            #expect(mistrusting.troubles["TLS of localhost"]?.hasPrefix("failure: no valid TLS") == true)
            await server.stop()
            let usage = try await Program.run(["doctor", "--url", "appstore.example.com"])
            #expect(usage.ending == .exit(2) && usage.output.isEmpty)
        }
    }
}
