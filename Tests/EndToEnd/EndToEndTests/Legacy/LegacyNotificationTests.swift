import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StrictJSON
import Testing

extension EndToEnd {
    /// Notifications V1 through the built program.
    @Suite struct LegacyNotificationTests {
        private let secret = "right-\(UUID().uuidString)"
        private let wrong = "wrong-\(UUID().uuidString)"

        @Test func `a shared secret is stored and logged nowhere, whatever the body`() async throws {
            var legacy = try LegacyShop()
            var life = legacy.shop.makeCustomer()
            let purchase = try life.subscribe()
            let secrets = ["APPSTORE_INBOX_SHARED_SECRETS": "\(legacy.shop.app.bundleID)=\(secret)", "APPSTORE_INBOX_LOG_LEVEL": "trace"]
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest(secrets)
                let admin = HTTPClient(port: FreePort.find())
                let listen = ["APPSTORE_INBOX_WORKER_ADMIN_LISTEN": "127.0.0.1:\(admin.port)"]
                let worker = try await legacy.startWorker(in: installation, secrets.merging(listen) { $1 })
                let body = try legacy.notification(.initialBuy, of: life, password: secret)
                let posts: [(body: [UInt8], status: Int, problem: String?)] = [
                    (JSONSerializer.serialize(body), 200, nil),
                    // Again with the member name written as an equivalent escape.
                    (text(body, replacing: #""password""#, with: #""p\u0061ssword""#), 200, nil),
                    (try legacy.shop.body(purchase), 200, nil),
                    (JSONSerializer.serialize(try legacy.notification(.initialBuy, of: life, password: wrong)), 401, "wrong-shared-secret"),
                    (text(body, replacing: #""password""#, with: #""password":"\#(secret)","password""#), 401, "wrong-shared-secret"),
                    (text(body, replacing: #""bid":""#, with: #""bid":"another."#), 503, "no-shared-secret"),
                ]
                var written = ""
                for post in posts {
                    let answer = try await ingest.client.postLegacy(post.body)
                    #expect(answer.status == post.status)
                    #expect(answer.problem == post.problem)
                    written += "\(answer.fields) \(String(decoding: answer.body, as: UTF8.self))"
                }
                let events = try await installation.sql.settled(3)
                // Two are copies of one notification; their order within a batch varies.
                #expect(events.map { $0.outcome ?? "" }.sorted() == ["applied", "applied", "duplicate"])
                #expect(try await installation.sql.values("SELECT kind FROM appstore.effects") == ["granted"])
                for client in [ingest.admin, admin] {
                    written += String(decoding: try await client.get("/metrics").body, as: UTF8.self)
                }
                written += ingest.daemon.log + worker.log
                let rows = try await installation.sql.everything()
                #expect(rows.contains { $0.contains(hexadecimal("unified_receipt")) })
                for word in [secret, wrong] {
                    #expect(!written.contains(word))
                    #expect(!rows.contains { $0.contains(word) || $0.contains(hexadecimal(word)) })
                }
            }
        }

        private func text(_ body: JSONObject, replacing old: String, with new: String) -> [UInt8] {
            Array(String(decoding: JSONSerializer.serialize(body), as: UTF8.self).replacingOccurrences(of: old, with: new).utf8)
        }

        /// As PostgreSQL prints bytea.
        private func hexadecimal(_ text: String) -> String {
            text.utf8.map { String(format: "%02x", $0) }.joined()
        }
    }
}

extension SQLAccess {
    /// Every row of every table, as text.
    func everything() async throws -> [String] {
        let tables = try await values("SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'appstore'")
        var rows: [String] = []
        for table in tables { rows += try await values(Statement(stringLiteral: "SELECT t::text FROM \(table) AS t")) }
        return rows
    }
}
