import AppStore
import Feed
import HTTPServingTesting
import InboxTesting
import Postgres
import Testing

/// `GET /v1/feed` without waiting: cursors, filters, limits and problems.
@Suite(.timeLimit(.minutes(2)))
struct FeedReadTests {
    @Test func `pages follow each other by their cursors, and the last one says where the feed ends`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            #expect(try await api.feed(key: key) == FeedAnswer(next: "1.0", head: "1.0"))
            try await api.tell(["a", "b", "c"])
            let first = try await api.feed("?limit=2", key: key)
            #expect(first == FeedAnswer(users: ["a", "b"], next: "1.2", head: "1.3", hasMore: true))
            #expect(try await api.feed("?after=1.2&limit=2", key: key) == FeedAnswer(users: ["c"], next: "1.3", head: "1.3"))
            #expect(try await api.feed("?after=1.3", key: key) == FeedAnswer(next: "1.3", head: "1.3"))
            #expect(try await api.feed("?after=begin&limit=3", key: key) == FeedAnswer(users: ["a", "b", "c"], next: "1.3", head: "1.3"))
            #expect(try await api.feed("?after=now", key: key) == FeedAnswer(next: "1.3", head: "1.3"))
        }
    }

    @Test func `a cursor by time is before the first entry that was told then or later`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            for day in 1...9 {
                try await api.tell(["\(day)"])
                try await api.database.change(
                    "UPDATE appstore.feed SET told_at = '2026-01-01'::timestamptz + \(day) * interval '1 day' WHERE position = \(day)"
                )
            }
            for (instant, first) in [
                ("2026-01-05T00:00:00Z", 4), ("2026-01-05T00:00:01Z", 5), ("2025-01-01T00:00:00Z", 1), ("2026-01-10T00:00:00Z", 9),
            ] {
                #expect(try await api.feed("?after=time:\(instant)&limit=1", key: key).users == ["\(first)"], "\(instant)")
            }
            #expect(try await api.feed("?after=time:2027-01-01T00:00:00%2B02:00", key: key) == FeedAnswer(next: "1.9", head: "1.9"))
            try await api.database.change("DELETE FROM appstore.feed WHERE position < 4")
            #expect(try await api.feed("?after=time:2026-01-06T00:00:00Z&limit=1", key: key).users == ["5"])
            let aged = try await api.feed("?after=time:2026-01-03T00:00:00Z", key: key)
            #expect((aged.status, aged.next) == (410, "1.3"))
        }
    }

    @Test func `entries that are not wanted move the cursor, a part of the feed at each request`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            for _ in 0..<7 {
                try await api.database.change(
                    "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', 'u' FROM generate_series(1, 2000)"
                )
                try await api.database.sequenceFeed()
            }
            try await api.tell("access.changed", of: "com.example.tides", in: "Production")
            let first = try await api.feed("?types=access.*", key: key)
            #expect(first == FeedAnswer(next: "1.10000", head: "1.14001", hasMore: true))
            let second = try await api.feed("?types=access.*&after=1.10000", key: key)
            #expect(second == FeedAnswer(users: ["access.changed"], next: "1.14001", head: "1.14001"))
        }
    }

    @Test func `a key gets the entries of its apps and environments, of the usual types or of those it asks for`() async throws {
        try await RunningAPI.runWithFeed { api, all in
            try await api.tell("order.paid", of: "com.example.tides", in: "Production")
            try await api.tell("access.changed", of: "com.example.tides", in: "Sandbox")
            try await api.tell("effect.granted", of: "com.example.dunes", in: "Production")
            try await api.tell("inbox.failed", of: nil, in: nil)
            try await api.tell(["ann"])
            let (tides, sandbox) = (try await api.makeKey(apps: ["com.example.tides"]), try await api.makeKey(environments: [.sandbox]))
            #expect(try await api.feed(key: all).users == ["order.paid", "access.changed", "effect.granted", "ann"])
            #expect(try await api.feed(key: tides).users == ["order.paid", "access.changed", "ann"])
            #expect(try await api.feed(key: sandbox).users == ["access.changed", "ann"])
            #expect(try await api.feed("?environment=Sandbox", key: all).users == ["access.changed", "ann"])
            #expect(try await api.feed("?environment=Production", key: sandbox).problem == "environment-not-covered")
            #expect(try await api.feed("?types=effect.*,inbox.failed", key: all).users == ["effect.granted", "inbox.failed"])
            #expect(try await api.feed("?types=effect.*,inbox.failed", key: tides).users == [])
            for (key, position, status) in [
                (all, 4, 200), (tides, 4, 404), (tides, 3, 404), (tides, 1, 200), (sandbox, 1, 404), (all, 6, 404),
            ] {
                #expect(try await api.exchange("GET", "/v1/feed/\(position)", key: key).status == status, "\(position)")
            }
            let entry = try await api.exchange("GET", "/v1/feed/1", key: all)
            #expect(try await api.exchange("GET", "/v1/feed?limit=1", key: all).body.contains(entry.body), "the same bytes")
        }
    }

    @Test func `an answer has some 512 KiB at most, and one entry at least`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b", "c", "d"])
            try await api.database.change(
                "UPDATE appstore.feed SET data = jsonb_build_object('x', repeat('x', CASE position WHEN 3 THEN 600000 ELSE 270000 END))"
            )
            #expect(try await api.feed(key: key) == FeedAnswer(users: ["a", "b"], next: "1.2", head: "1.4", hasMore: true))
            #expect(try await api.feed("?after=1.2", key: key) == FeedAnswer(users: ["c"], next: "1.3", head: "1.4", hasMore: true))
            #expect(try await api.feed("?after=1.3", key: key) == FeedAnswer(users: ["d"], next: "1.4", head: "1.4"))
        }
    }

    @Test func `a parameter that is wrong is named`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            for (query, parameter) in [
                ("after=", "after"), ("after=1", "after"), ("after=1.-2", "after"), ("after=+1.2", "after"), ("after=1.2.3", "after"),
                ("after=time:yesterday", "after"), ("after=99999999999.1", "after"), ("limit=0", "limit"), ("limit=1001", "limit"),
                ("limit=x", "limit"), ("wait=31", "wait"), ("wait=-1", "wait"), ("types=", "types"), ("types=access.changed,", "types"),
                ("types=access", "types"), ("types=*", "types"), ("environment=Xcode", "environment"), ("consumer=A", "consumer"),
                ("consumer=a&after=now", "consumer"),
            ] {
                let answer = try await api.feed("?\(query)", key: key)
                #expect((answer.status, answer.problem, answer.parameter) == (400, "invalid-parameter", parameter), "\(query)")
            }
            #expect(try await api.feed("?cursor=1.1", key: key).problem == "unknown-parameter")
        }
    }

    @Test func `while the feed is off a reader is told how to turn it on`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            let answer = try await api.exchange("GET", "/v1/feed?after=now", key: key)
            #expect((answer.status, answer.problem) == (409, "feed-off"))
            #expect(answer.body.contains("SELECT appstore.enable_feed()"))
        }
    }

    @Test func `a cursor of an older generation goes on, unless its position has another meaning`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b"])
            for name in ["c", "d"] {
                // A failover, after which the sequencer begins a generation.
                try await api.database.change("UPDATE appstore.feed_head SET cluster = 'of another one'")
                try await api.tell([name])
            }
            let generations = try await api.generations()
            let (second, third) = (generations[1], generations[2])
            #expect(
                try await api.feed("?after=1.1", key: key) == FeedAnswer(users: ["b", "c", "d"], next: "\(third).4", head: "\(third).4")
            )
            #expect(try await api.feed("?after=\(second).3", key: key) == FeedAnswer(users: ["d"], next: "\(third).4", head: "\(third).4"))
            for (cursor, next) in [
                ("1.3", "\(third).2"), ("1.4", "\(third).2"), ("\(second).4", "\(third).3"), ("\(third).5", "\(third).3"),
                ("\(third + 1).1", "\(third).3"),
            ] {
                let answer = try await api.feed("?after=\(cursor)", key: key)
                #expect((answer.status, answer.problem, answer.next) == (409, "history-changed", next), "\(cursor)")
                #expect(try await api.feed("?after=\(next)", key: key).status == 200)
            }
        }
    }

    @Test func `a failover that lost entries is noticed before the sequencer has begun a generation`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b"])
            try await api.database.change("UPDATE appstore.feed_head SET cluster = 'of another one'")
            let answer = try await api.feed("?after=1.7", key: key)
            #expect((answer.problem, answer.next) == ("history-changed", "1.2"))
            try await api.tell(["c"])
            let second = try await api.generations()[1]
            #expect(try await api.feed("?after=1.2", key: key) == FeedAnswer(users: ["c"], next: "\(second).3", head: "\(second).3"))
        }
    }

    @Test func `a cursor from before the feed was off is gone: what happened meanwhile is not told`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b"])
            try await api.database.change("SELECT appstore.disable_feed()")
            try await api.database.change("SELECT appstore.enable_feed()")
            let second = try await api.generations()[1]
            for cursor in ["1.1", "1.2"] {
                let answer = try await api.feed("?after=\(cursor)", key: key)
                #expect((answer.status, answer.problem, answer.next) == (410, "cursor-expired", "\(second).2"), "\(cursor)")
            }
            try await api.tell(["c"])
            #expect(try await api.feed("?after=\(second).2", key: key).users == ["c"])
            #expect(try await api.feed("?after=begin", key: key).users == ["a", "b", "c"])
        }
    }

    @Test func `a cursor whose next entries have aged is gone, and the oldest one goes on`() async throws {
        try await RunningAPI.runWithFeed { api, key in
            try await api.tell(["a", "b", "c", "d"])
            try await api.database.change("DELETE FROM appstore.feed WHERE position < 3")
            #expect(try await api.feed("?after=begin", key: key).users == ["c", "d"])
            #expect(try await api.feed("?after=1.2", key: key).users == ["c", "d"])
            let answer = try await api.feed("?after=1.1", key: key)
            #expect((answer.status, answer.problem, answer.next) == (410, "cursor-expired", "1.2"))
        }
    }

    @Test func `the program and the database know the same types`() async throws {
        let database = try await InboxDatabase.make()
        #expect(try await database.lines("SELECT unnest(appstore.feed_types())") == FeedType.all)
        #expect(APIDescription.served.root["components"]?["schemas"]?["FeedType"]?["examples"]?.elements.compactMap(\.text) == FeedType.all)
    }
}
