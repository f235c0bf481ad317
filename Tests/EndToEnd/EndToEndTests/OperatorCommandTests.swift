import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    @Suite struct OperatorCommandTests {
        @Test func `trigger posts to a running ingest and status counts the outcome`() async throws {
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                let authority = installation.folder.appending(path: "ca").path
                let url = "http://127.0.0.1:\(ingest.client.port)\(HTTPClient.notifications)"
                let root = try await Program.run(["trigger", "--root-only", "--ca", authority], program: BuiltProgram.labPath())
                #expect(root.ending == .exit(0), "\(root.errors)")
                _ = try await installation.startWorker([
                    "APPSTORE_INBOX_APPS": "com.example.app",
                    "APPSTORE_INBOX_EXTRA_ROOTS": root.output.trimmingCharacters(in: .whitespacesAndNewlines),
                ])
                for arguments in [["SUBSCRIBED/INITIAL_BUY", "--repeat", "2"], ["TEST"], ["SUBSCRIBED/INITIAL_BUY", "--forged"]] {
                    let result = try await Program.run(
                        ["trigger"] + arguments + ["--ca", authority, "--to", url],
                        program: BuiltProgram.labPath()
                    )
                    #expect(result.ending == .exit(0), "\(arguments): \(result.errors)")
                }
                let events = try await sql.settled(4)
                #expect(events.compactMap(\.outcome).sorted() == ["applied", "duplicate", "no_effect", "rejected"])

                let viewer = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_viewer")]
                let status = try await Program.run(["status", "--json"], settings: viewer)
                #expect(status.ending == .exit(0), "\(status.errors)")
                let document = try status.json()
                #expect((document.number("ready"), document.number("waiting")) == ("0", "0"))
                for outcome in ["applied", "duplicate", "no_effect", "rejected"] {
                    #expect(document.document("outcomes")?.number(outcome) == "1", "\(outcome)")
                }
                let text = try await Program.run(["status"], settings: viewer)
                #expect(text.ending == .exit(0))
                #expect(text.output.contains("rejected"))
            }
        }

        @Test func `status counts waiting events, and fails when notifications have stopped`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(1))
            try await Installation.lend { installation in
                let viewer = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_viewer")]
                let never = try await Program.run(["status", "--max-silence", "3600"], settings: viewer)
                #expect(never.ending == .exit(1))
                #expect(never.output.contains("no notification has come yet"), "\(never.output)")

                let ingest = try await installation.startIngest()
                _ = try await ingest.client.post(bodies)
                let waiting = try await Program.run(["status", "--json"], settings: viewer).json()
                #expect((waiting.number("ready"), waiting.number("waiting")) == ("1", "0"))
                #expect(waiting.number("oldestUnsettledSeconds") != nil)
                _ = try await installation.startWorker(for: shop)
                _ = try await installation.sql.settled(1)
                let lately = try await Program.run(["status", "--max-silence", "3600"], settings: viewer)
                #expect(lately.ending == .exit(0), "\(lately.errors)")

                // Two hours later; an invalid notification in between does not count.
                try await installation.sql.execute("UPDATE appstore.outcomes SET received_at = received_at - interval '2 hours'")
                _ = try await ingest.client.post([Array(#"{"signedPayload":"YQ.YQ.YQ"}"#.utf8)])
                _ = try await installation.sql.settled(2)
                let silent = try await Program.run(["status", "--max-silence", "3600", "--json"], settings: viewer)
                #expect(silent.ending == .exit(1))
                #expect(try silent.json().number("lastNotificationSeconds").flatMap(Int.init) ?? 0 >= 7200)
            }
        }

        @Test func `trigger reports an address where no server listens and an unknown type`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-ca-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let lab = try BuiltProgram.labPath()
            let refused = try await Program.run(["trigger", "TEST", "--ca", folder, "--to", "http://127.0.0.1:9/x"], program: lab)
            #expect(refused.ending == .exit(1))
            #expect(!refused.errors.isEmpty)
            let unknown = try await Program.run(["trigger", "GIFT_WRAPPED", "--ca", folder], program: lab)
            #expect(unknown.ending == .exit(2))
            #expect(unknown.errors.contains("GIFT_WRAPPED"), "\(unknown.errors)")
        }
    }
}
