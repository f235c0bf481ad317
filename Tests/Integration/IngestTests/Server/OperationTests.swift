import HTTPServing
import HTTPServingTesting
import PostgresTesting
import PrometheusTesting
import ServiceSupport
import Synchronization
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(2)))
struct OperationTests {
    private static let route = ["route": "/apple/v2/notifications"]
    private static let livez = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
    private static let readyz = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func `both listeners serve health`() async throws {
        try await RunningServer.run { server in
            for port in [server.port, server.adminPort] {
                #expect(try await server.exchange(Self.livez, port: port).body == "alive\n")
                #expect(try await server.exchange(Self.readyz, port: port).body == "ready\n")
                let head = try await server.exchange("HEAD /livez HTTP/1.1\r\nHost: x\r\n\r\n", port: port)
                #expect(head.status == 200)
                #expect(head.headers["content-length"] == "6")
            }
            let request = SampleNotification.post(SampleNotification.body())
            #expect(try await server.exchange(request, port: server.adminPort).status == 404)
            #expect(try await server.storedBodies().isEmpty)
        }
    }

    @Test func `only the second listener serves metrics`() async throws {
        try await RunningServer.run { server in
            #expect(try await server.exchange(SampleNotification.post(SampleNotification.body())).status == 200)
            let refused = " /apple/v2/notifications HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
            #expect(try await server.exchange("PUT" + refused).status == 405)
            #expect(try await server.exchange("POST" + refused).status == 415)
            #expect(try await server.exchange("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").status == 404)

            let waiting = try await server.connect()
            try await waiting.send(Self.livez)
            #expect(try await waiting.response().status == 200)
            let answer = try await server.exchange("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", port: server.adminPort)
            #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let metrics = try ExposedMetrics(answer.body)
            #expect(metrics.value("appstore_inbox_ingest_accepted_total", Self.route) == 1)
            let bytes = Double(SampleNotification.body().count)
            #expect(metrics.value("appstore_inbox_ingest_accepted_bytes_total", Self.route) == bytes)
            #expect(metrics.count("appstore_inbox_ingest_commit_seconds") == 1)
            #expect(metrics.value("appstore_inbox_ingest_batches_in_flight") == 0)
            #expect(metrics.value("appstore_inbox_http_connections", ["listener": "admin"]) == 1)
            #expect(try #require(metrics.value("appstore_inbox_http_connections", ["listener": "notifications"])) >= 1)
            let refusals = metrics.families["appstore_inbox_http_refused_total"]?.samples.map(\.labels) ?? []
            #expect(Set(refusals.map { $0["reason"] }) == ["method-not-allowed", "not-found", "unsupported-media-type"])
            #expect(Set(refusals.map { $0["status"] }) == ["404", "405", "415"])
            #expect(server.registry.undescribed == [])
            waiting.close()
        }
    }

    @Test func `a failed commit is counted`() async throws {
        try await RunningServer.run(committer: { $0.commitTimeout = .milliseconds(100) }) { server in
            let lock = try await TableLock(server.database)
            #expect(try await server.exchange(SampleNotification.post(SampleNotification.body())).status == 503)
            try await lock.release()
            let answer = try await server.exchange("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", port: server.adminPort)
            let metrics = try ExposedMetrics(answer.body)
            #expect(metrics.value("appstore_inbox_ingest_commit_failures_total") == 1)
            #expect(metrics.value("appstore_inbox_ingest_accepted_total", Self.route) == 0)
            let refusal = ["listener": "notifications", "reason": "not-committed", "status": "503"]
            #expect(metrics.value("appstore_inbox_http_refused_total", refusal) == 1)
        }
    }

    @Test func `the second listener answers when the first is full`() async throws {
        try await RunningServer.run(server: { $0.limits.maximumConnections = 2 }) { server in
            let first = try await server.connect()
            let second = try await server.connect()
            for client in [first, second] {
                try await client.send(Self.livez)
                #expect(try await client.response().status == 200)
            }
            let waiting = try await server.connect()
            try await waiting.send(Self.livez)
            #expect(try await server.exchange(Self.readyz, port: server.adminPort).status == 200)
            first.close()
            #expect(try await waiting.response().status == 200)
        }
    }

    @Test func `without its database the server refuses quickly, and recovers`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let database = try await TestDatabase.migrated(in: cluster)
        try await RunningServer.run(database: database) { server in
            let request = SampleNotification.post(SampleNotification.body())
            #expect(try await server.exchange(request).status == 200)
            await cluster.stop()
            for _ in 1...5 {
                let start = ContinuousClock.now
                let response = try await server.exchange(request)
                #expect(response.status == 503)
                #expect(response.headers["retry-after"] != nil)
                #expect(ContinuousClock.now - start < .seconds(2))
            }
            #expect(try await server.exchange(Self.readyz).status == 503)
            #expect(try await server.exchange(Self.livez).status == 200)
            try await cluster.launch()
            while try await server.exchange(Self.readyz).status != 200 {}
            #expect(try await server.exchange(request).status == 200)
            #expect(try await server.storedBodies().count == 2)
        }
        await cluster.stop()
    }

    @Test func `an unreachable host before a reachable one costs only its connect timeout`() async throws {
        let database = try await TestDatabase.migrated()
        let dead = SilentServer()
        let url = dead.url(before: database, user: "appstore_ingest", timeout: 3)
        // Shorter than the connect timeout: no probe and no commit can wait for a connection.
        let timeouts: (inout GroupCommitter.Configuration) -> Void = {
            ($0.probeTimeout, $0.commitTimeout) = (.milliseconds(500), .seconds(1))
        }
        try await RunningServer.run(database: database, url: url, committer: timeouts) { server in
            let request = SampleNotification.post(SampleNotification.body())
            let start = ContinuousClock.now
            #expect(try await server.exchange(request).status == 503)
            #expect(try await server.exchange(Self.readyz).status == 503)
            while try await server.exchange(Self.readyz).status != 200, start.duration(to: .now) < .seconds(30) {}
            #expect(try await server.exchange(request).status == 200)
            #expect(start.duration(to: .now) < .seconds(10))
            #expect(try await server.storedBodies().count == 1)
        }
    }

    @Test func `every notification answered with 200 survives a database crash`() async throws {
        let cluster = try await TestCluster.startPrivate(settings: ["fsync": "on"])
        let database = try await TestDatabase.migrated(in: cluster)
        try await RunningServer.run(database: database) { server in
            let stop = StopFlag()
            let (answers, answered) = AsyncStream.makeStream(of: String.self)
            var answered200: Set<String> = []
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for client in 0..<2 {
                    tasks.addTask {
                        var number = 0
                        while !stop.isSet {
                            number += 1
                            let body = SampleNotification.body(client * 1_000_000 + number, bytes: 2000)
                            if try await server.exchange(SampleNotification.post(body)).status == 200 { answered.yield(body) }
                        }
                    }
                }
                for await body in answers {
                    answered200.insert(body)
                    if answered200.count == 50 || answered200.count == 100 {
                        await cluster.kill()
                        try await cluster.launch()
                    }
                    if answered200.count == 150 { break }
                }
                stop.set()
                try await tasks.waitForAll()
            }
            let stored = Set(try await server.storedBodies().map { String(decoding: $0, as: UTF8.self) })
            #expect(answered200.isSubset(of: stored))
        }
        await cluster.stop()
    }

    @Test func `shutdown answers received requests and accepts no new ones`() async throws {
        try await RunningServer.run { server in
            let lock = try await TableLock(server.database)
            let idle = try await server.connect()
            try await idle.send(Self.livez)
            #expect(try await idle.response().status == 200)
            let busy = try await server.connect()
            try await busy.send(SampleNotification.post(SampleNotification.body()))
            try await server.database.awaitWaitingIngest()

            await server.shutDown()
            #expect(try await idle.untilClosed() == "")
            #expect(try await server.exchange(Self.livez, port: server.adminPort).status == 200)
            #expect(try await server.exchange(Self.readyz, port: server.adminPort).status == 503)
            await #expect(throws: (any Error).self) { try await server.exchange(Self.livez) }
            try await lock.release()
            let response = try await busy.response()
            #expect(response.status == 200)
            #expect(response.headers["connection"] == "close")
            #expect(try await server.storedBodies().count == 1)
        }
    }

    @Test func `shutdown does not wait for a client that never finishes`() async throws {
        try await RunningServer.run(server: { $0.limits.shutdownGrace = .milliseconds(100) }) { server in
            let client = try await server.connect()
            try await client.send(SampleNotification.head(fields: "Content-Length: 5\r\n"))
            try await client.send("x")
            #expect(try await server.exchange(Self.livez).status == 200)
            await server.shutDown()
            try await client.untilEnded()
        }
    }

    @Test func `the heartbeat continues while the server works`() async throws {
        let (beats, beat) = AsyncStream.makeStream(of: Void.self)
        try await RunningServer.run(server: { $0.heartbeatInterval = .milliseconds(10) }, heartbeat: { beat.yield() }) { _ in
            var count = 0
            for await _ in beats {
                count += 1
                if count == 3 { break }
            }
        }
    }

    @Test func `the server listens on a Unix socket`() async throws {
        let path = "/tmp/appstore-inbox-\(UInt64.random(in: 0 ... .max)).sock"
        let address = try ListenAddress("unix:" + path)
        try await RunningServer.run(server: { $0.listen = address }) { server in
            #expect(server.ports.notifications == nil)
            let client = try await RawClient.connect(unixSocket: path)
            try await client.send(SampleNotification.post(SampleNotification.body()))
            #expect(try await client.response().status == 200)
        }
    }
}

/// Stops the client tasks.
private final class StopFlag: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() {
        state.withLock { $0 = true }
    }
}
