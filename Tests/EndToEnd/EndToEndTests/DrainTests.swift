import EndToEndTesting
import Foundation
import Glibc
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
    @Suite struct DrainTests {
        @Test func `two workers settle each event of a backlog once`() async throws {
            var shop = try Shop()
            let purchases = try shop.bodies(shop.purchases(100))
            // Customers whose events update the same rows, and copies, so that the workers conflict.
            let lives = try (0..<15).flatMap { _ in try shop.bodies(shop.shortLife()) }
            let bodies = purchases + lives + lives
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await ingest.client.post(bodies)
                let settings = ["APPSTORE_INBOX_BATCH_SIZE": "10"]
                let workers = [
                    try await installation.startWorker(for: shop, settings), try await installation.startWorker(for: shop, settings),
                ]
                try await eventually("the backlog is drained") {
                    try await sql.expectEachEventAccountedFor()
                    return try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") == 0
                }
                let events = try await sql.settled(bodies.count)
                let counts = Dictionary(grouping: events, by: \.outcome).mapValues(\.count)
                #expect(counts["duplicate"] == lives.count)
                #expect(Set(counts.keys).isSubset(of: ["applied", "superseded", "duplicate"]), "\(counts)")
                #expect(events.allSatisfy { $0.attempts == 1 })
                #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.effects") == purchases.count + lives.count)
                for worker in workers {
                    #expect(worker.warnings == [])
                    #expect(try await worker.terminate() == .exit(0))
                }
            }
        }

        @Test func `a worker that receives SIGTERM commits the batch in flight and leaves the rest`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.purchases(300))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await ingest.client.post(bodies)
                let worker = try await installation.startWorker(
                    for: shop,
                    ["APPSTORE_INBOX_BATCH_SIZE": "1", "APPSTORE_INBOX_CONCURRENCY": "1"]
                )
                try await eventually("the worker has begun") {
                    try await sql.value(Int.self, "SELECT count(*) FROM appstore.outcomes") > 0
                }
                #expect(try await worker.terminate() == .exit(0))
                #expect(worker.warnings == [])
                try await sql.expectEachEventAccountedFor()
                #expect(try await sql.value(Int.self, "SELECT count(*) FROM appstore.inbox_queue") > 0, "the worker was too fast")

                _ = try await installation.startWorker(for: shop)
                let events = try await sql.settled(bodies.count)
                #expect(events.allSatisfy { $0.outcome == "applied" && $0.attempts == 1 })
            }
        }

        @Test func `an ingest that receives SIGTERM under load has stored every body that it answered with 200`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let seen = try await Load(shop: shop, clients: 3, port: ingest.client.port).run {
                    try await eventually("the load has begun") {
                        try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") >= 60
                    }
                    #expect(try await ingest.daemon.terminate() == .exit(0))
                }
                #expect(Set(seen.statuses.keys).isSubset(of: [200, 503]), "\(seen.statuses)")
                let stored = try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.inbox")
                #expect(try await installation.sql.missing(seen.bodies) == 0)
                #expect(stored == seen.bodies.count, "every stored body was answered")
            }
        }

        @Test func `a request in flight when ingest receives SIGTERM is answered`() async throws {
            var shop = try Shop()
            let body = try shop.body(shop.purchases(1)[0])
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let daemon = ingest.daemon
                let answer = try await ingest.client.connected { connection in
                    let fields = ["content-type: application/json", "content-length: \(body.count)", "expect: 100-continue"]
                    connection.send(
                        Array("POST \(HTTPClient.notifications) HTTP/1.1\r\nhost: a\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n".utf8)
                    )
                    // The request is now in flight.
                    #expect(try connection.answer().status == 100)
                    daemon.signal(SIGTERM)
                    connection.send(body)
                    return try connection.answer()
                }
                #expect(answer.status == 200)
                #expect(try await daemon.ending(within: .seconds(20)) == .exit(0))
                #expect(try await installation.sql.missing([body]) == 0)
            }
        }
    }
}
