import HTTPServing
import HTTPServingTesting
import InboxTesting
import Postgres
import PostgresTesting
import StrictJSON
import Testing

@testable import ShopAPI

/// `GET /v1/feed` that waits: long polls and streams.
@Suite(.timeLimit(.minutes(2)))
struct FeedWaitTests {
    @Test func `a long poll is answered when an entry is told, and only by one that it wants`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            async let any = api.feed("?after=1.0&wait=30", key: key)
            async let filtered = api.feed("?after=1.0&wait=30&types=order.paid", key: key)
            try await api.awaitWaiters()
            try await api.tell(["a"])
            #expect(try await any == FeedAnswer(users: ["a"], next: "1.1", head: "1.1"))
            try await api.tell("order.paid", of: "com.example.tides", in: "Production")
            #expect(try await filtered.next == "1.2")
        }
    }

    @Test func `a long poll for which nothing is told is answered with its cursor`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a"])
            let start = ContinuousClock.now
            async let filtered = api.feed("?after=1.0&wait=1&types=order.paid", key: key)
            #expect(try await api.feed("?after=1.1&wait=1", key: key) == FeedAnswer(next: "1.1", head: "1.1"))
            #expect(try await filtered == FeedAnswer(next: "1.1", head: "1.1"))
            #expect(ContinuousClock.now - start >= .seconds(1))
        }
    }

    @Test func `the time of an answer begins after the wait`() async throws {
        try await RunningAPI.runWithFeed(limits: { ($0.requestDeadline, $0.answerTimeout) = (.milliseconds(500), .milliseconds(500)) }) {
            api,
            key in
            let answer = try await api.feed("?after=now&wait=2", key: key)
            #expect(answer == FeedAnswer(next: "1.0", head: "1.0"))
        }
    }

    @Test func `requests that wait may have half of the connections`() async throws {
        try await RunningAPI.runWithFeed(limits: { $0.maximumConnections = 4 }) { api, key in
            async let first = api.feed("?after=now&wait=30", key: key)
            try await api.awaitWaiters()
            let stream = try await api.stream("?after=now", key: key)
            try await eventually("a request is refused") {
                try await api.feed("?after=now&wait=1", key: key).problem == "too-many-waiting"
            }
            #expect(try await api.feed("?after=now", key: key).status == 200, "one that does not wait")
            try await api.tell(["a"])
            #expect(try await first.users == ["a"])
            stream.close()
        }
    }

    @Test(arguments: ["", "Accept: text/event-stream\r\n"])
    func `polls and streams that are abandoned change nothing for the next one`(accept: String) async throws {
        try await RunningAPI.runWithFeed(limits: { $0.maximumConnections = 120 }) { api, key in
            let request = "GET /v1/feed?after=now&wait=30 HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer \(key.text)\r\n\(accept)\r\n"
            for _ in 0..<5 {
                var clients: [RawClient] = []
                for _ in 0..<60 { clients.append(try await RawClient.connect(port: api.port, sending: request)) }
                try await eventually("as many wait as may") {
                    if try await api.feed("?after=now&wait=1", key: key).problem == "too-many-waiting" { return true }
                    // The one that asked may have taken the place of the last.
                    clients.append(try await RawClient.connect(port: api.port, sending: request))
                    return false
                }
                for client in clients { client.close() }
                // Sooner than the heartbeat of a stream, and than a poll would have waited.
                try await eventually("a poll waits", within: .seconds(12)) {
                    try await api.feed("?after=now&wait=1", key: key).status == 200
                }
            }
        }
    }

    @Test func `a shutdown answers requests that wait`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            async let waiting = api.feed("?after=now&wait=30", key: key)
            try await api.awaitWaiters()
            let start = ContinuousClock.now
            await api.shutDown()
            #expect(try await waiting == FeedAnswer(next: "1.0", head: "1.0"))
            #expect(ContinuousClock.now - start < .seconds(8))
        }
    }

    @Test func `a shutdown ends streams`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            let stream = try await api.stream("?after=now", key: key)
            _ = try await stream.text(until: "retry: 2000")
            let start = ContinuousClock.now
            await api.shutDown()
            #expect(try await stream.untilClosed().hasSuffix("0\r\n\r\n"))
            #expect(ContinuousClock.now - start < .seconds(8))
        }
    }

    @Test func `a stream has each entry with its cursor and type, and goes on after the last one`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b"])
            let stream = try await api.stream("?after=1.1", key: key)
            let first = try await stream.text(until: "\n\n\r\n")
            #expect(first.contains("id: 1.2\nevent: user.forgotten\ndata: {") && !first.contains("id: 1.1\n"), "\(first)")
            try await api.tell(["c"])
            #expect(try await stream.text(until: "\n\n\r\n").contains("id: 1.3\n"))
            stream.close()
            let again = try await api.stream("?after=begin", key: key, fields: "Last-Event-ID: 1.2\r\n")
            let rest = try await again.text(until: "\n\n\r\n")
            #expect(rest.contains("id: 1.3\n") && !rest.contains("id: 1.2\n"), "\(rest)")
            again.close()
        }
    }

    @Test func `a stream that cannot begin is refused as any other request`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            let request = """
                GET /v1/feed?after=7.1 HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer \(key.text)\r\nAccept: text/event-stream\r\n\r\n
                """
            let client = try await RawClient.connect(port: api.port, sending: request)
            #expect(try await client.response().problem == "history-changed")
            client.close()
        }
    }

    @Test func `a stream ends when its key is revoked`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            let stream = try await api.stream("?after=now", key: key)
            _ = try await stream.text(until: "retry: 2000")
            try await api.database.withConnection(user: "appstore_operator") { _ = try await KeyRegister($0).revoke(key.id) }
            try await api.tell(["a"])
            let rest = try await stream.untilClosed()
            #expect(!rest.contains("user.forgotten"))
        }
    }

    @Test func `a CloudEvents batch has the same facts, and its cursor in a field`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell("order.paid", of: "com.example.tides", in: "Production")
            try await api.tell(["ann"])
            let request = """
                GET /v1/feed HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer \(key.text)\r\n\
                Accept: text/html;q=0.9, application/cloudevents-batch+json\r\n\r\n
                """
            let client = try await RawClient.connect(port: api.port, sending: request)
            let answer = try await client.response()
            client.close()
            #expect(answer.headers["content-type"] == "application/cloudevents-batch+json")
            #expect(answer.headers["feed-next"] == "1.2")
            let (batch, entry) = (try answer.json().elements, try await api.exchange("GET", "/v1/feed/1", key: key).json())
            #expect(batch.count == 2)
            #expect(batch[0]["specversion"]?.text == "1.0" && batch[0]["source"]?.text == "/apple/com.example.tides")
            #expect(batch[0]["id"] == entry["id"] && batch[0]["type"] == entry["type"] && batch[0]["time"] == entry["timestamp"])
            #expect(batch[0]["data"] == entry["data"] && batch[0]["position"]?.text == "1" && batch[0]["generation"] == .integer(1))
            #expect(batch[1]["source"]?.text == "/apple" && batch[1]["subject"] == nil, "no attribute is null")
        }
    }
}

extension RunningAPI {
    /// Waits until the feed was asked again for requests that wait.
    fileprivate func awaitWaiters() async throws {
        try await database.withConnection { connection in
            try await eventually("a request waits") {
                let rows = try await connection.query(
                    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%feed_end%' AND usename = 'appstore_api'"
                )
                return !rows.isEmpty
            }
        }
    }
}
