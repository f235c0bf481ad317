import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

/// `/v1/feed/consumers/{name}`: cursors that the database keeps.
@Suite(.timeLimit(.minutes(2)))
struct ConsumerTests {
    private static let path = "/v1/feed/consumers/mailer"

    @Test func `a consumer begins where it is put, goes on where it acknowledges, and is removed`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b", "c"])
            #expect(try await api.exchange("GET", Self.path, key: key).problem == "no-such-consumer")
            #expect(try await api.feed("?consumer=mailer", key: key).problem == "no-such-consumer")
            let made = try await api.exchange("PUT", Self.path, key: key, json: #"{"cursor":"begin"}"#)
            #expect(made.status == 200)
            let consumer = try made.json()
            #expect(consumer["cursor"]?.text == "1.0" && consumer["lag"] == .integer(3))
            let page = try await api.feed("?consumer=mailer&limit=2", key: key)
            #expect(page == FeedAnswer(users: ["a", "b"], next: "1.2", head: "1.3", hasMore: true))
            #expect(try await api.feed("?consumer=mailer&limit=2", key: key) == page, "reading does not move it")
            #expect(try await api.exchange("PUT", Self.path, key: key, json: #"{"cursor":"1.2"}"#).status == 200)
            #expect(try await api.feed("?consumer=mailer&limit=2", key: key).users == ["c"])
            #expect(try await api.database.lines("SELECT name || ' ' || position FROM appstore.feed_consumers") == ["mailer 2"])
            let state = try await api.exchange("GET", Self.path, key: key).json()
            #expect(state["lag"] == .integer(1) && state["movedAt"]?.text != nil)
            #expect(try await api.exchange("DELETE", Self.path, key: key).status == 204)
            #expect(try await api.exchange("DELETE", Self.path, key: key).problem == "no-such-consumer")
        }
    }

    @Test func `a consumer is not put where nothing can be read, and one whose entries have aged says so`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b", "c"])
            for (cursor, problem) in [("1.4", "history-changed"), ("2.1", "history-changed"), ("x", "invalid-member")] {
                let answer = try await api.exchange("PUT", Self.path, key: key, json: #"{"cursor":"\#(cursor)"}"#)
                #expect(answer.problem == problem, "\(cursor)")
            }
            #expect(try await api.database.lines("SELECT name FROM appstore.feed_consumers") == [])
            #expect(try await api.exchange("PUT", Self.path, key: key, json: #"{"cursor":"1.0"}"#).status == 200)
            try await api.database.change("DELETE FROM appstore.feed WHERE position < 3")
            let aged = try await api.feed("?consumer=mailer", key: key)
            #expect((aged.problem, aged.next) == ("cursor-expired", "1.2"))
            #expect(try await api.exchange("PUT", Self.path, key: key, json: #"{"cursor":"1.1"}"#).problem == "cursor-expired")
            #expect(try await api.exchange("PUT", "/v1/feed/consumers/Mailer", key: key, json: #"{"cursor":"now"}"#).status == 400)
        }
    }

    /// A new generation changes nothing for a consumer: its row has the same history as the feed.
    @Test func `a consumer goes on after a failover`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b"])
            #expect(try await api.exchange("PUT", Self.path, key: key, json: #"{"cursor":"1.1"}"#).status == 200)
            try await api.database.change("UPDATE appstore.feed_head SET cluster = 'of another one'")
            try await api.tell(["c"])
            let second = try await api.generations()[1]
            let answer = try await api.feed("?consumer=mailer", key: key)
            #expect(answer == FeedAnswer(users: ["b", "c"], next: "\(second).3", head: "\(second).3"))
        }
    }
}
