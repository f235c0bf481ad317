import HTTPServingTesting
import Ingest
import Postgres
import PrometheusTesting
import ServiceSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct NotificationsTests {
    @Test func `a notification is stored exactly as sent`() async throws {
        try await RunningServer.run { server in
            let body = "\n { \"x\": \"\\u0000 \u{FFFF} é\",\t\"signedPayload\" : \"eyJh.e30.c2ln\" } \r\n"
            let response = try await server.exchange(SampleNotification.post(body))
            #expect(response.status == 200)
            #expect(response.body == "")
            #expect(response.headers["content-length"] == "0")
            #expect(response.headers["date"] != nil)
            #expect(try await server.storedBodies() == [Array(body.utf8)])
            #expect(try await server.database.query("SELECT FROM appstore.inbox WHERE source = 'notification_v2'").count == 1)
            #expect(try await server.database.query("SELECT FROM appstore.inbox_queue").count == 1)
        }
    }

    @Test func `a notification is answered only after its commit`() async throws {
        try await RunningServer.run { server in
            let lock = try await TableLock(server.database)
            let client = try await server.connect()
            try await client.send(SampleNotification.post(SampleNotification.body()))
            try await server.database.awaitWaitingIngest()
            try await lock.release()
            #expect(try await client.response().status == 200)
            #expect(try await server.storedBodies().count == 1)
        }
    }

    @Test func `concurrent requests share commits and are all stored`() async throws {
        try await RunningServer.run(committer: { $0.maximumBatchesInFlight = 1 }) { server in
            let bodies = (0..<64).map { SampleNotification.body($0) }
            let lock = try await TableLock(server.database)
            try await withThrowingTaskGroup(of: Void.self) { clients in
                for body in bodies {
                    clients.addTask {
                        let client = try await server.connect()
                        for _ in 1...4 {
                            try await client.send(SampleNotification.post(body))
                            #expect(try await client.response().status == 200)
                        }
                    }
                }
                // The first is in flight; the others share a commit.
                func waiting() throws -> Double? {
                    try ExposedMetrics(server.registry.render()).value("appstore_inbox_ingest_waiting_events")
                }
                while try waiting() != 63 { await Task.yield() }
                try await lock.release()
                try await clients.waitForAll()
            }
            let stored = try await server.storedBodies().map { String(decoding: $0, as: UTF8.self) }
            #expect(stored.sorted() == bodies.flatMap { [$0, $0, $0, $0] }.sorted())
            let together = try await server.database.query("SELECT FROM appstore.inbox GROUP BY xmin::text HAVING count(*) >= 63")
            #expect(together.count >= 1)
        }
    }

    @Test func `a client that waits for 100 (Continue) gets it`() async throws {
        try await RunningServer.run { server in
            let client = try await server.connect()
            let body = SampleNotification.body()
            let fields = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nExpect: 100-continue\r\n"
            try await client.send(SampleNotification.head(fields: fields))
            #expect(try await client.response().status == 100)
            try await client.send(body)
            #expect(try await client.response().status == 200)
        }
    }

    @Test func `a client that disconnects does not affect others`() async throws {
        try await RunningServer.run { server in
            let lock = try await TableLock(server.database)
            let vanishing = try await server.connect()
            try await vanishing.send(SampleNotification.post(SampleNotification.body(1)))
            try await server.database.awaitWaitingIngest()
            let staying = try await server.connect()
            try await staying.send(SampleNotification.post(SampleNotification.body(2)))
            vanishing.close()
            try await lock.release()
            #expect(try await staying.response().status == 200)
            #expect(try await server.storedBodies().contains(Array(SampleNotification.body(2).utf8)))
        }
    }
}
