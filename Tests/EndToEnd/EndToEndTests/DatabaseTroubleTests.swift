import EndToEndTesting
import Foundation
import PostgresTesting
import SQL
import StoreSimulator
import Testing

extension EndToEnd {
    /// What daemons and commands say of a database that they cannot use.
    @Suite struct DatabaseTroubleTests {
        struct Trouble: Sendable, CustomTestStringConvertible {
            let testDescription: String
            /// Makes the connection string of a database that cannot be used.
            let url: @Sendable (TestDatabase, _ role: String) -> String
            /// A part of the only warning about it.
            let warning: String
        }

        static let troubles = [
            Trouble(
                testDescription: "no server",
                url: { database, role in "postgresql://\(role)@127.0.0.1:\(FreePort.find())/\(database.name)" },
                warning: "the database cannot be reached"
            ),
            Trouble(
                testDescription: "no such database",
                url: { database, role in database.url(user: role).replacing(database.name, with: "nowhere") },
                warning: #"database "nowhere" does not exist"#
            ),
            Trouble(
                testDescription: "no such role",
                url: { database, _ in database.url(user: "nobody_of_this_name") },
                warning: #"role "nobody_of_this_name" does not exist"#
            ),
            Trouble(
                testDescription: "a role that may do too little",
                url: { database, _ in database.url(user: "appstore_backend") },
                warning: "the role appstore_backend may not do what is needed: connect as appstore_"
            ),
        ]

        @Test(arguments: ["ingest", "worker"], troubles)
        func `a daemon says once, at its start, why it cannot use the database`(daemon: String, trouble: Trouble) async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let url = ["APPSTORE_INBOX_DATABASE_URL": trouble.url(installation.database, "appstore_\(daemon)")]
                let started =
                    daemon == "ingest" ? try await installation.startIngest(url).daemon : try await installation.startWorker(for: shop, url)
                // No client posts or asks.
                try await eventually("it says why", within: .seconds(5)) { started.warnings.contains { $0.contains(trouble.warning) } }
                #expect(try await started.terminate() == .exit(0))
                #expect(started.warnings.count == 1, "\(started.log)")
            }
        }

        @Test func `the API says of its own role that it is wrong, and Apple is served`() async throws {
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest([
                    "APPSTORE_INBOX_API_LISTEN": "127.0.0.1:\(FreePort.find())",
                    "APPSTORE_INBOX_API_DATABASE_URL": installation.database.url(user: "appstore_viewer"),
                ])
                try await eventually("it says why") {
                    ingest.daemon.warnings.contains {
                        $0.contains("database.pool=api")
                            && $0.contains("the role appstore_viewer may not do what is needed: connect as appstore_api")
                    }
                }
                #expect(try await ingest.admin.get("/readyz").status == 200)
            }
        }

        @Test func `a superuser's daemon works, and its log names the role to use`() async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                let url = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url()]
                let ingest = try await installation.startIngest(url)
                let worker = try await installation.startWorker(for: shop, url)
                _ = try await ingest.client.post(try shop.bodies(shop.purchases(1)))
                try await installation.sql.settled(1)
                for (daemon, role) in [(ingest.daemon, "appstore_ingest"), (worker, "appstore_worker")] {
                    #expect(daemon.warnings.count == 1, "\(daemon.log)")
                    #expect(daemon.warnings.first?.contains("postgres is a superuser: connect as \(role)") == true, "\(daemon.log)")
                }
            }
        }

        @Test func `an outage is one line for each of its reasons, and its end is one line`() async throws {
            let shop = try Shop()
            let cluster = try await TestCluster.startPrivate()
            try await Installation.lend(on: cluster) { installation in
                let ingest = try await installation.startIngest()
                let worker = try await installation.startWorker(for: shop)
                let daemons = [ingest.daemon, worker]
                for daemon in daemons {
                    try await eventually("\(daemon.command) works") { daemon.log.contains("the database can be used") }
                }
                await cluster.stop()
                for daemon in daemons {
                    try await eventually("\(daemon.command) has noticed") { daemon.log.contains("the database cannot be reached") }
                }
                try await cluster.launch()
                for daemon in daemons {
                    try await eventually("\(daemon.command) works again") {
                        daemon.log.components(separatedBy: "the database can be used").count == 3
                    }
                    // PostgreSQL ends connections, says that it shuts down, is away, and says that it starts. A claim may have been in flight.
                    let outage = daemon.warnings.filter { !$0.contains("batch was not committed") }
                    #expect(!outage.isEmpty && daemon.warnings.count <= outage.count + 1, "\(daemon.log)")
                    #expect(Set(outage.map { $0.split(separator: " error=").last }).count == outage.count, "\(daemon.log)")
                    #expect(outage.allSatisfy { $0.contains("the database cannot be reached") }, "\(daemon.log)")
                }
            }
            await cluster.stop()
        }

        @Test func `the first line of a daemon's log names version, schema, database, apps and roots, and no password`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let url = installation.database.url(user: "appstore_worker").replacing("appstore_worker@", with: "appstore_worker:hunter2@")
                let worker = try await installation.startWorker(
                    for: shop,
                    ["APPSTORE_INBOX_DATABASE_URL": url, "APPSTORE_INBOX_LOG_LEVEL": "trace"]
                )
                let line = try #require(worker.log.split(separator: "\n").first { $0.contains("worker is starting") })
                for part in [
                    "program.version=0.2.0", "program.commit=", "program.schema=\(SchemaManifest().version)",
                    "database.name=\(installation.database.name)", "database.role=appstore_worker",
                    "database.host=", "apps=\(shop.app.bundleID)", "environments=Production, Sandbox",
                    "roots=Apple Root CA - G3, Apple Root CA, \(try installation.rootPath(of: shop)) (Production, Sandbox)",
                ] { #expect(line.contains(part), "\(part): \(line)") }
                #expect(try await worker.terminate() == .exit(0))
                #expect(!worker.log.contains("hunter2"))
                #expect(!worker.log.contains("ServiceConfiguration"), "no structures of libraries: \(worker.log)")
            }
        }

        @Test(arguments: [["status"], ["requeue", "1"], ["discard", "1", "--note", "x"], ["key", "list"], ["replay", "--event", "1"]])
        func `a command on an empty database says what to run`(arguments: [String]) async throws {
            let database = try await TestCluster.shared.makeDatabase()
            let result = try await Program.run(arguments, settings: ["APPSTORE_INBOX_DATABASE_URL": database.url()])
            #expect(result.ending == .exit(1))
            #expect(result.errors.contains("the database has no schema appstore: run `appstore-inbox migrate`"), "\(result.errors)")
        }

        @Test func `a command with the wrong role names the right one`() async throws {
            try await Installation.lend { installation in
                let url = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_ingest")]
                let result = try await Program.run(["requeue", "1"], settings: url)
                #expect(result.ending == .exit(1))
                #expect(result.errors.contains("connect as appstore_operator"), "\(result.errors)")
            }
        }
    }
}
