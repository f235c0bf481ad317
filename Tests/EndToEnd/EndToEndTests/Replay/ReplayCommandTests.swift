import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StrictJSON
import Testing

extension EndToEndInterfaces {
    /// The bodies that `replay` posts, where it stops, and its output.
    @Suite struct ReplayCommandTests {
        @Test func `the bodies of a file are posted byte for byte`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.shortLife())
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                let lines = bodies.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
                let first = try await Program.run(["replay", "--from", "-", "--to", ingest.url], input: Array(lines.utf8))
                #expect(first.ending == .exit(0), "\(first.errors)")
                #expect(
                    first.output.split(separator: "\n").sorted().prefix(2) == [
                        "4 bodies: 4 answered with 200", "standard input line 1: 200",
                    ]
                )
                try await sql.settled(4)
                #expect(try await sql.missing(bodies) == 0)

                let before = try await sql.digest()
                let again = try await Program.run(
                    ["replay", "--from", "-", "--json"],
                    settings: ["APPSTORE_INBOX_LISTEN": "0.0.0.0:\(ingest.client.port)"],
                    input: Array(lines.utf8)
                )
                #expect(again.ending == .exit(0), "\(again.errors)")
                let reports = try again.output.split(separator: "\n").map { try JSONDocument(String($0)) }
                #expect(reports.compactMap { $0.number("line") }.sorted() == ["1", "2", "3", "4"])
                #expect(reports.dropLast().allSatisfy { $0.text("result") == "taken" && $0.number("status") == "200" })
                #expect(reports.last?.document("summary")?.document("counts")?.number("taken") == "4")
                let events = try await sql.settled(8)
                #expect(events.suffix(4).allSatisfy { $0.outcome == "duplicate" })
                let after = try await sql.digest()
                #expect(difference(before, after) == [])
            }
        }

        @Test func `events of the inbox are posted again, except clients' posts`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(3))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await ingest.client.post(bodies)
                let events = try await sql.events().map(\.eventID)
                let settings = try installation.workerSettings(for: shop)
                let range = ["replay", "--event", "\(events[0])-\(events[2] + 1000)", "--to", ingest.url]
                let taken = try await Program.run(range, settings: settings)
                #expect(taken.ending == .exit(0), "\(taken.errors)")
                #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") == 6)
                #expect(try await sql.value(Int.self, "SELECT count(DISTINCT body) FROM appstore.inbox") == 3)

                try await sql.execute(
                    """
                    WITH stored AS (
                        INSERT INTO appstore.inbox (source, received_at, body)
                        VALUES ('client_transaction', clock_timestamp(), '{}') RETURNING *)
                    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
                    SELECT event_id, received_at, octet_length(body) FROM stored
                    """
                )
                let client = try await sql.value(Int64.self, "SELECT max(event_id) FROM appstore.inbox")
                let mixed = [
                    "--event", "\(events[0])", "--event", "\(client)", "--event", "\(client + 1)", "--event", "\(client + 2)-\(client + 9)",
                ]
                let refused = try await Program.run(["replay", "--to", ingest.url] + mixed, settings: settings)
                #expect(refused.ending == .exit(1))
                for line in [
                    "event \(events[0]): 200", "SELECT appstore.requeue_event(\(client))",
                    "event \(client + 1): not posted: there is no such event",
                    "there is no event from here to \(client + 9)", "4 bodies: 1 answered with 200, 3 not posted",
                ] {
                    #expect(refused.output.contains(line), "\(line) is not in:\n\(refused.output)")
                }
                #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") == 8)
            }
        }

        @Test func `a dry run names the errors and posts nothing`() async throws {
            var shop = try Shop()
            let body = String(decoding: try shop.body(shop.purchases(1)[0]), as: UTF8.self)
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let file = installation.folder.appending(path: "bodies.ndjson")
                try Data("\(body)\n\nnonsense\n\(body)\n".utf8).write(to: file)
                let result = try await Program.run(["replay", "--from", file.path, "--to", ingest.url, "--dry-run"])
                #expect(result.ending == .exit(1))
                #expect(
                    result.output == """
                        \(file.path) line 1: would be posted
                        \(file.path) line 3: not posted: no notification: not_json
                        \(file.path) line 4: would be posted
                        3 bodies: 2 would be posted, 1 not posted

                        """
                )
                #expect(try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") == 0)
                let fine = try await Program.run(["replay", "--from", file.path, "--to", ingest.url, "--dry-run", "--start-line", "4"])
                #expect(fine.ending == .exit(0))
            }
        }

        @Test func `a replay whose server stops says where to continue, and a second run completes it`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(200))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                let file = installation.folder.appending(path: "bodies.ndjson")
                try Data(bodies.joined(separator: [UInt8(ascii: "\n")])).write(to: file)
                let arguments = ["replay", "--from", file.path, "--parallel", "4"]
                let url = ingest.url
                async let interrupted = Program.run(arguments + ["--to", url, "--give-up-after", "1", "--json"])
                try await eventually("some are stored") { try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") >= 20 }
                try await ingest.daemon.kill()
                let stopped = try await interrupted
                #expect(stopped.ending == .exit(1))
                let summary = try JSONDocument(String(stopped.output.split(separator: "\n").last ?? "")).document("summary")
                let line = try #require(summary?.document("resumeAt")?.number("line"))
                #expect((1...190).contains(Int(line) ?? 0), "line \(line)")
                #expect(stopped.output.split(separator: "\n").count < 190, "no request starts after one was given up")

                let restarted = try await installation.startIngest()
                let rest = try await Program.run(arguments + ["--to", restarted.url, "--start-line", line])
                #expect(rest.ending == .exit(0), "\(rest.output.suffix(200))")
                #expect(try await sql.missing(bodies) == 0)
            }
        }

        @Test func `a notification V1 is posted from a file, but not from the inbox, where its secret is redacted`() async throws {
            var legacy = try LegacyShop()
            var life = legacy.shop.makeCustomer()
            let purchase = try life.subscribe()
            let secret = "right-\(UUID().uuidString)"
            let settings = ["APPSTORE_INBOX_SHARED_SECRETS": "\(legacy.shop.app.bundleID)=\(secret)"]
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest(settings))
                let bodies = [
                    JSONSerializer.serialize(try legacy.notification(.initialBuy, of: life, password: secret)),
                    try legacy.shop.body(purchase),
                    JSONSerializer.serialize(try legacy.notification(.initialBuy, of: life, password: "another")),
                ]
                let input = Array(bodies.joined(separator: [UInt8(ascii: "\n")]))
                let posted = try await Program.run(["replay", "--from", "-", "--to", ingest.url, "--parallel", "1"], input: input)
                #expect(posted.ending == .exit(1), "\(posted.errors)")
                for line in ["line 1: 200", "line 2: 200", "line 3: 401, refused", "3 bodies: 2 answered with 200, 1 refused"] {
                    #expect(posted.output.contains(line), "\(line) is not in:\n\(posted.output)")
                }
                #expect(!(posted.output + posted.errors).contains(secret))
                #expect(
                    try await sql.values("SELECT source FROM appstore.inbox ORDER BY event_id") == ["notification_v1", "notification_v2"]
                )

                let event = try await sql.value(Int64.self, "SELECT min(event_id) FROM appstore.inbox")
                let again = try await Program.run(
                    ["replay", "--event", "\(event)", "--to", ingest.url],
                    settings: try installation.workerSettings(for: legacy.shop)
                )
                #expect(again.ending == .exit(1))
                let reason =
                    "not posted: is a notification_v1, which cannot be posted again: use SELECT appstore.requeue_event(\(event))"
                #expect(again.output.contains("event \(event): \(reason)"), "\(again.output)\(again.errors)")
                #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") == 2)
            }
        }

        @Test func `replay stops at the first body when the server does not answer`() async throws {
            let lines = Array(repeating: #"{"signedPayload":"YQ.YQ.YQ"}"#, count: 50).joined(separator: "\n")
            let arguments = ["replay", "--from", "-", "--to", "http://127.0.0.1:9/x", "--give-up-after", "0"]
            let result = try await Program.run(arguments, input: Array(lines.utf8))
            #expect(result.ending == .exit(1))
            #expect(result.output.contains("stopped at line 1: continue with --start-line 1"), "\(result.output)")
            #expect(!result.output.contains("line 20:"))
        }

        @Test func `replay waits for the end of an outage`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(20))
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let file = installation.folder.appending(path: "bodies.ndjson")
                try Data(bodies.joined(separator: [UInt8(ascii: "\n")])).write(to: file)
                // As during an outage of the database: ingest answers 503.
                try await installation.sql.execute("REVOKE EXECUTE ON FUNCTION appstore.receive(bytea[], text) FROM appstore_ingest")
                async let replayed = Program.run(["replay", "--from", file.path, "--to", ingest.url, "--json"])
                try await eventually("ingest has refused some") { ingest.daemon.log.contains("permission denied") }
                try await installation.sql.execute("GRANT EXECUTE ON FUNCTION appstore.receive(bytea[], text) TO appstore_ingest")
                let result = try await replayed
                #expect(result.ending == .exit(0), "\(result.output)")
                #expect(result.output.contains(#""attempts":2"#), "\(result.output)")
                #expect(try await installation.sql.missing(bodies) == 0)
            }
        }

        @Test(arguments: [
            (["replay"], "--from"), (["replay", "--from", "a", "--event", "1"], "--from"), (["replay", "--event", "7-3"], "7-3"),
            (["replay", "--from", "/nowhere/at/all.ndjson"], "/nowhere/at/all.ndjson"),
            (["replay", "--from", "-", "--to", "ftp://x"], "--to must be http://HOST:PORT/PATH"),
            (["replay", "--from", "-", "--start-line", "0"], "--start-line"),
            (["replay", "--from", "-", "--parallel", "65"], "--parallel"),
        ])
        func `wrong usage and unreadable files end with 2`(arguments: [String], named: String) async throws {
            let result = try await Program.run(arguments, input: [])
            #expect(result.ending == .exit(2))
            #expect(result.errors.contains(named), "\(result.errors)")
        }

        @Test func `wrong settings end with 78, and an empty file with 1`() async throws {
            let wrong = try await Program.run(["replay", "--from", "-"], settings: ["APPSTORE_INBOX_LISTEN": "127.0.0.1:0"], input: [])
            #expect(wrong.ending == .exit(78))
            #expect(wrong.errors.contains("127.0.0.1:0"), "\(wrong.errors)")
            let missing = try await Program.run(["replay", "--event", "1"])
            #expect(missing.ending == .exit(78))
            #expect(missing.errors.contains("APPSTORE_INBOX_DATABASE_URL"))
            let empty = try await Program.run(["replay", "--from", "-"], input: [])
            #expect(empty.ending == .exit(1))
            #expect(empty.output == "0 bodies\n")
        }
    }
}

extension Ingest {
    /// The URL to which notifications are posted.
    fileprivate var url: String { "http://127.0.0.1:\(client.port)\(HTTPClient.notifications)" }
}
