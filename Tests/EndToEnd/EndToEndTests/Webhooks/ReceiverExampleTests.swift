import EndToEndTesting
import Foundation
import Glibc
import Postgres
import PostgresTesting
import StoreSimulator
import Testing

extension EndToEndInterfaces {
    /// The programs of `deploy/examples`.
    @Suite struct ReceiverExampleTests {
        private static let examples = URL(filePath: #filePath).appending(path: "../../../../../deploy/examples").standardized

        private static let node = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/node" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }

        /// How a receiver verifies, by what stands in its file: HMAC or ed25519.
        private static let keys = ["secret", "publicKey"]

        @Test(.enabled(if: node != nil, "Node.js is not installed"), arguments: keys)
        func `the receiver for Node verifies webhooks and refuses others`(key: String) async throws {
            try await receive([Self.node ?? "", Self.examples.appending(path: "receiver.mjs").path], key)
        }

        @Test(arguments: keys)
        func `the receiver in Swift verifies webhooks and refuses others`(key: String) async throws {
            try await receive([BuiltProgram.path(of: "webhook-receiver-example")], key)
        }

        private func receive(_ words: [String], _ key: String) async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.shortLife(token: nil))
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWebhookWorker(for: shop)
                let port = FreePort.find()
                let url = "http://127.0.0.1:\(port)/webhooks"
                let made = try await installation.run(["endpoint", "create", "shop", url, "--no-test", "--type", "effect.*", "--json"])
                    .json()
                let file = installation.folder.appending(path: "receiver-secret")
                try Data("whsec_\(String(repeating: "A", count: 43))=\n\(made.text(key) ?? "")\n".utf8).write(to: file)
                let logPath = installation.folder.appending(path: "receiver.log").path
                let receiver = try RunningProgram.start(
                    words,
                    settings: ["PORT": "\(port)", "WEBHOOK_SECRET_FILE": file.path],
                    output: logPath,
                    errors: logPath
                )
                defer { receiver.signal(SIGKILL) }
                func lines() throws -> [String] {
                    guard FileManager.default.fileExists(atPath: logPath) else { return [] }
                    return try String(contentsOfFile: logPath, encoding: .utf8).split(separator: "\n").map(String.init)
                }
                try await eventually("the receiver listens") { try lines().first == url }
                let test = try await installation.run(["endpoint", "test", "shop"])
                let log = try lines()
                #expect(test.ending == .exit(0), "\(test.output)\(log)")
                _ = try await ingest.client.post(bodies)
                try await eventually("the refund arrives") { try lines().contains { $0.hasPrefix("effect.refunded ") } }
                #expect(try lines().contains { $0.hasPrefix("effect.granted ") })

                let body = Array(#"{"id":"x","type":"effect.granted","position":1,"data":{}}"#.utf8)
                let forged: [[String: String]] = [
                    [:], ["webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA v1a,AAAA v1 ,"],
                    [
                        "webhook-id": "x", "webhook-timestamp": "\(Int(Date().timeIntervalSince1970))",
                        "webhook-signature": "v1,AAAA v1a,AAAA",
                    ],
                    ["webhook-id": "x", "webhook-timestamp": "now", "webhook-signature": "v1,"],
                ]
                for fields in forged {
                    let answer = try await HTTPClient(port: port).connected {
                        try $0.exchange("POST", "/webhooks", fields: fields, body: body)
                    }
                    #expect(answer.status == 401)
                }
                // The secret is another one.
                _ = try await installation.run(["endpoint", "rotate", "shop"])
                try await installation.sql.execute(
                    "UPDATE appstore.endpoints SET rotated_at = now() - interval '25 hours', secret_generation = 3"
                )
                let refused = try await eventually("the worker has taken the new secret") {
                    let refused = try await installation.run(["endpoint", "test", "shop"])
                    return refused.ending == .exit(1) ? refused : nil
                }
                #expect(refused.output.contains("failed, 401 in "), "\(refused.output)")
            }
        }

        @Test func `the consumer in SQL has the access of each user, and runs again without harm`() async throws {
            var shop = try Shop()
            let (stays, leaves) = (UUID(), UUID())
            var lives = [shop.makeCustomer(), shop.makeCustomer()]
            let bought = try shop.bodies([lives[0].subscribe(appAccountToken: stays), lives[1].subscribe(appAccountToken: leaves)])
            let refunded = try shop.bodies([lives[1].refund()])
            let text = try String(contentsOf: Self.examples.appending(path: "consumer.sql"), encoding: .utf8)
            let statement = try #require(
                text.split(separator: "\n").drop { $0.hasPrefix("--") }.joined(separator: "\n").split(separator: ";").first
            )
            let table = try #require(text.firstMatch(of: /CREATE TABLE [^;]*;/)).output.replacing("--", with: "")
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                try await sql.execute("SELECT appstore.enable_feed()")
                try await sql.execute("SELECT appstore.set_consumer('shop')")
                try await sql.execute("\(unsafeRaw: String(table))")
                for (user, no) in [("ann", stays), ("ben", leaves)] {
                    try await sql.makeOrder(user: user, product: shop.plan.id, no: no.uuidString)
                }
                func consume(until count: Int64) async throws {
                    try await eventually("the consumer has taken all") {
                        try await sql.execute("\(unsafeRaw: String(statement))")
                        return try await sql.value(
                            Bool.self,
                            """
                            SELECT NOT EXISTS (SELECT FROM appstore.tells) AND c.position = h.position AND h.position >= \(count)
                            FROM appstore.feed_consumers AS c, appstore.feed_head AS h
                            """
                        )
                    }
                }
                _ = try await ingest.client.post(bought)
                try await sql.settled(2)
                try await consume(until: 2)
                _ = try await ingest.client.post(refunded)
                try await sql.settled(3)
                try await consume(until: 3)
                try await consume(until: 3)
                let access = try await sql.values("SELECT DISTINCT user_id || ' ' || active FROM access ORDER BY 1")
                let expected = try await sql.values(
                    "SELECT DISTINCT user_id || ' ' || active FROM appstore.entitlements WHERE user_id = 'ann' UNION SELECT 'ben false' ORDER BY 1"
                )
                #expect(access == expected)
                // As appstore.forget does, which would take the bodies, too.
                try await sql.execute("INSERT INTO appstore.tells (kind, ref) VALUES ('forgotten', 'ben')")
                try await consume(until: 4)
                #expect(try await sql.values("SELECT DISTINCT user_id FROM access") == ["ann"])
            }
        }
    }
}
