import EndToEndTesting
import Foundation
import Glibc
import Postgres
import PostgresTesting
import StoreSimulator
import StrictJSON
import Testing

extension EndToEndInterfaces {
    /// `appstore-inbox tail`, as the role appstore_viewer.
    @Suite struct TailCommandTests {
        /// A running tail, whose output is read while it runs.
        private struct RunningTail: Sendable {
            let process: RunningProgram
            let folder: URL

            var lines: [String] { text("tail.out").split(separator: "\n").map(String.init) }
            var errors: [String] { text("tail.err").split(separator: "\n").map(String.init) }

            /// Waits for a line with this text.
            func line(with text: String) async throws -> String {
                try await eventually("a line has \(text)") { lines.first { $0.contains(text) } }
            }

            private func text(_ name: String) -> String {
                (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? ""
            }
        }

        /// Runs `tail` until `body` returns, then ends it with a signal.
        private func tail(
            _ arguments: [String],
            in installation: Installation,
            signal: Int32 = SIGTERM,
            _ body: (RunningTail) async throws -> Void
        ) async throws {
            let script = #"exec "$0" tail "$@" >"$TAIL_FOLDER/tail.out" 2>"$TAIL_FOLDER/tail.err""#
            let result = try await Program.run(
                ["-c", script, try BuiltProgram.path()] + arguments,
                settings: viewer(installation).merging(["TAIL_FOLDER": installation.folder.path]) { $1 },
                program: "/bin/sh"
            ) { process in
                try await body(RunningTail(process: process, folder: installation.folder))
                process.signal(signal)
            }
            #expect(result.ending == .exit(0))
        }

        private func viewer(_ installation: Installation) -> [String: String] {
            ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_viewer")]
        }

        @Test func `events appear as they are settled, with the user and the cause of a refusal`() async throws {
            var shop = try Shop()
            var customer = shop.makeCustomer()
            let token = UUID()
            let purchase = try customer.subscribe(to: shop.plan, appAccountToken: token)
            let (body, renewal) = (try shop.body(purchase), try shop.body(customer.renew()))
            let forged = try shop.signer.forge(try shop.purchases(1)[0], .payloadAltered).body
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                try await installation.sql.makeOrder(user: "ann", product: shop.plan.id, no: token.uuidString)
                _ = try await ingest.client.post(body)
                try await installation.sql.settled(1)
                try await tail([], in: installation) { tail in
                    let bought = try await tail.line(with: "SUBSCRIBED/INITIAL_BUY")
                    #expect(bought.contains("  \(shop.app.bundleID)  applied  ann "), "\(bought)")
                    #expect(bought.contains("#1  "), "\(bought)")
                    _ = try await ingest.client.post([renewal])
                    #expect(try await tail.line(with: "DID_RENEW").contains("  ann "))
                    _ = try await ingest.client.post([forged])
                    #expect(try await tail.line(with: "rejected").hasSuffix(" explain 3"))
                    #expect(tail.lines.count == 3, "\(tail.lines)")
                    #expect(tail.lines.allSatisfy { !$0.contains("\u{1B}") }, "a file gets no colours")
                    #expect(tail.errors == [])
                }
            }
        }

        /// Settles an event, in a transaction that commits when it may.
        private static let late: Statement = """
            WITH stored AS (
                INSERT INTO appstore.inbox (source, received_at, body) VALUES ('notification_v2', now(), '\\x7b7d') RETURNING *
            )
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
            SELECT event_id, source, received_at, clock_timestamp(), 1, 1, 'rejected', 'late' FROM stored
            """

        @Test func `an event is not missed that was settled before the start and is committed after it`() async throws {
            var shop = try Shop()
            let body = try shop.bodies(shop.purchases(1))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                let (inserted, isInserted) = AsyncStream.makeStream(of: Void.self)
                let (mayCommit, commit) = AsyncStream.makeStream(of: Void.self)
                async let late: Void = sql.withTransaction { transaction in
                    _ = try await transaction.query(Self.late)
                    isInserted.finish()
                    for await _ in mayCommit {}
                }
                for await _ in inserted {}
                _ = try await ingest.client.post(body)
                try await sql.settled(1)
                try await tail([], in: installation, signal: SIGINT) { tail in
                    try await eventually("the visible one is shown") { tail.lines.count == 1 }
                    commit.finish()
                    _ = try await tail.line(with: "rejected late")
                }
                try await late
            }
        }

        @Test func `an event whose transaction commits after later ones is not missed`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(3))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                try await tail([], in: installation, signal: SIGINT) { tail in
                    try await sql.withTransaction { late in
                        _ = try await late.query(Self.late)
                        // Each appears in another poll.
                        for (count, body) in bodies.enumerated() {
                            _ = try await ingest.client.post([body])
                            try await eventually("\(count + 1) lines are there") { tail.lines.count == count + 1 }
                        }
                    }
                    _ = try await tail.line(with: "rejected late")
                    #expect(tail.lines.count == 4, "\(tail.lines)")
                }
            }
        }

        @Test func `with --json each line is an object, and --no-follow ends after the last ones`() async throws {
            var shop = try Shop()
            let purchases = try shop.purchases(3)
            let bodies = try shop.bodies(purchases)
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                for (count, body) in (bodies + [Array(#"{"signedPayload":"YQ.YQ.YQ"}"#.utf8)]).enumerated() {
                    _ = try await ingest.client.post([body])
                    try await installation.sql.settled(count + 1)
                }
                func ended(_ arguments: String...) async throws -> [JSONDocument] {
                    let result = try await Program.run(["tail", "--no-follow", "--json"] + arguments, settings: viewer(installation))
                    #expect(result.ending == .exit(0), "\(result.errors)")
                    return try result.output.split(separator: "\n").map { try JSONDocument(String($0)) }
                }
                #expect(try await ended("--last", "2").map { $0.number("event_id") } == ["3", "4"])
                #expect(try await ended("--last", "2", "--type", "SUBSCRIBED/INITIAL_BUY").map { $0.number("event_id") } == ["2", "3"])
                #expect(try await ended("--type", "SUBSCRIBED", "--app", shop.app.bundleID, "--outcome", "applied").count == 3)
                #expect(try await ended("--outcome", "rejected").map { $0.number("event_id") } == ["4"])
                #expect(try await ended("--app", "com.example.other").isEmpty)
                #expect(try await ended("--user", "ann").isEmpty)
                let bought = try #require(try await ended("--type", "SUBSCRIBED").first)
                #expect(
                    bought.object.members.map(\.name) == [
                        "event_id", "run", "received_at", "settled_at", "milliseconds", "source", "notification_type", "subtype",
                        "environment",
                        "bundle_id", "result", "reason", "transaction_id", "original_transaction_id", "user_id", "product_id",
                        "entitlements",
                        "until", "active",
                    ]
                )
                #expect(bought.text("transaction_id") == purchases[0].transactionID)
                #expect(bought.object["entitlements"] == [.string(bought.text("product_id") ?? "")])
                #expect(bought.object["user_id"] == .null && bought.text("until")?.hasSuffix("Z") == true)
            }
        }

        @Test func `it waits for a database that went away, says so once, and misses nothing`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(2))
            let cluster = try await TestCluster.startPrivate()
            try await Installation.lend(on: cluster) { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                try await tail([], in: installation) { tail in
                    _ = try await ingest.client.post([bodies[0]])
                    _ = try await tail.line(with: "#1")
                    await cluster.stop()
                    try await eventually("it says that it waits") { !tail.errors.isEmpty }
                    try await cluster.launch()
                    try await eventually("ingest has recovered") { try await ingest.admin.get("/readyz").status == 200 }
                    _ = try await ingest.client.post([bodies[1]])
                    _ = try await tail.line(with: "#2")
                    #expect(tail.lines.count == 2, "\(tail.lines)")
                    #expect(tail.errors.map { String($0.prefix(12)) } == ["waiting for ", "the database"], "\(tail.errors)")
                }
            }
            await cluster.stop()
        }

        @Test func `it ends quietly when its pipe is closed`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(2))
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(bodies)
                try await installation.sql.settled(2)
                let result = try await Program.run(
                    ["-c", #""$0" tail | head -n 1; echo "${PIPESTATUS[0]}""#, try BuiltProgram.path()],
                    settings: viewer(installation),
                    program: "/bin/bash"
                )
                let lines = result.output.split(separator: "\n")
                #expect(lines.count == 2 && lines[0].contains("SUBSCRIBED") && lines[1] == "0", "\(result.output)")
                #expect(result.errors == "")
            }
        }

        @Test(arguments: [
            (["--outcome", "aplied"], "did you mean applied?"), (["--type", "did_renew"], "did you mean DID_RENEW?"),
            (["--type", "SUBSCRIBED/INITIAL_BUYS"], "did you mean SUBSCRIBED/INITIAL_BUY?"),
            (["--outcome", "lost"], "it must be applied, "),
            (["--last", "1001"], "must be 0 to 1000"),
        ])
        func `a value that does not exist is wrong usage`(arguments: [String], words: String) async throws {
            let result = try await Program.run(["tail"] + arguments)
            #expect(result.ending == .exit(2))
            #expect(result.errors.contains(words), "\(result.errors)")
        }
    }
}
