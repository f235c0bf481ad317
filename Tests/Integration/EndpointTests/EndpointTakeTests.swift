import Foundation
import InboxTesting
import Postgres
import Testing

/// What an endpoint gets next.
struct EndpointTakeTests {
    @Test func `an endpoint gets the bytes that a reader of the feed gets, and only what it wants`() async throws {
        let scene = try await EndpointScene.make(
            """
            SELECT appstore.make_endpoint('crm', 'https://example.com/hook', types => '{effect.*}', environments => '{Production}',
                                          bundle_ids => '{com.example.shop}')
            """
        )
        try await scene.tell("a")
        try await scene.tell("b", environment: "Sandbox")
        try await scene.tell("c", type: "order.paid")
        try await scene.tell("d")
        let lease = try #require(try await scene.lease().first)
        let taken = try await scene.take(lease, after: 0)
        #expect(taken.map(\.line) == ["next 1", "next 4", "through 4"])
        #expect(taken[0].subject == "a" && taken[0].type == "effect.granted" && taken[0].attempts == 0 && !taken[0].isMissing)
        let read = try await scene.lines(
            "SELECT appstore.feed_event(f, appstore.feed_generation(f.position)) FROM appstore.feed AS f, set_config('TimeZone', 'UTC', false) WHERE f.position = 4"
        )
        #expect(taken[1].body.map { String(decoding: $0, as: UTF8.self) } == read[0])
        #expect(
            try await scene.lines("SELECT id::text FROM appstore.feed WHERE position = 1").first == taken[0].id?.uuidString.lowercased()
        )
    }

    @Test func `what is in flight or in the open deliveries does not come again, and the room is shared with what is due`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "c", "d", "e", "f", "g")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(
            lease,
            upTo: 0,
            [.failed(2, "b", wait: 0), .failed(3, "c", wait: 0), .failed(4, "d"), .failed(6, "f", wait: 0)]
        )
        #expect(try await scene.take(lease, after: 1, inFlight: [5], most: 4).map(\.line) == ["due 2", "due 3", "next 7", "through 7"])
        #expect(try await scene.take(lease, after: 7, inFlight: [2, 3, 5], most: 1).map(\.line) == ["due 6"])
        #expect(try await scene.take(lease, after: 0, most: 2).map(\.line) == ["due 2", "next 1", "through 1"])
        #expect(try await scene.take(lease, after: 7, most: 8).map(\.line) == ["due 2", "due 3", "due 6"])
    }

    @Test func `with room for one, neither what is due nor what is new waits for all of the other`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "c", "d")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 2, [.failed(1, "a", wait: 0), .failed(2, "b", wait: 0)])
        var seen: Set<[String]> = []
        for _ in 0..<100 where seen.count < 2 { seen.insert(try await scene.take(lease, after: 2, most: 1).map(\.line)) }
        #expect(seen == [["due 1"], ["next 3", "through 3"]])
    }

    @Test func `the bytes are limited, but an entry is always given`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "c")
        let lease = try #require(try await scene.lease().first)
        let size = try #require(try await scene.take(lease, after: 0, most: 1).first?.body?.count)
        #expect(try await scene.take(lease, after: 0, bytes: 1).map(\.line) == ["next 1", "through 1"])
        #expect(try await scene.take(lease, after: 0, bytes: size * 5 / 2).map(\.line) == ["next 1", "next 2", "through 2"])
    }

    @Test func `entries that an endpoint does not want move its cursor a thousand at a time`() async throws {
        let scene = try await EndpointScene.make("SELECT appstore.make_endpoint('crm', 'https://example.com/', types => '{order.paid}')")
        try await scene.run("INSERT INTO appstore.tells (kind, ref) SELECT 'failed', '1' FROM generate_series(1, 10)")
        try await scene.run("INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n::text FROM generate_series(1, 1500) AS n")
        try await scene.database.sequenceFeed()
        let lease = try #require(try await scene.lease().first)
        #expect(try await scene.take(lease, after: 0).map(\.line) == ["through 1000"])
        #expect(try await scene.take(lease, after: 1000).map(\.line) == ["through 1500"])
        #expect(try await scene.take(lease, after: 1500).isEmpty)
        #expect(try await scene.settle(lease, upTo: 1500, []))
        #expect(try await scene.poll([lease], after: [1500]) == ["crm": false])
    }

    @Test func `an endpoint whose next entry has aged gets nothing until it is told where to go on`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "c")
        let lease = try #require(try await scene.lease().first)
        try await scene.run("DELETE FROM appstore.feed WHERE position < 3")
        #expect(try await scene.take(lease, after: 0).isEmpty)
        #expect(try await scene.endpoint("state") == "enabled", "only what drops entries knows that they are gone for good")
        let refusal = await #expect(throws: PostgresError.self) { try await scene.operate("SELECT appstore.resume_endpoint('crm')") }
        #expect(refusal?.sqlState?.rawValue == "22023")
        try await scene.operate("SELECT appstore.resume_endpoint('crm', 0)")
        let next = try #require(try await scene.lease().first)
        #expect(next.position == 2)
        #expect(try await scene.take(next, after: 2).map(\.line) == ["next 3", "through 3"])
    }

    @Test func `a redelivery comes beside what is new, in its range, and ends`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "c", "d")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 4, (1...4).map { Report(position: $0) })
        try await scene.operate("SELECT appstore.redeliver('crm', from_position => 2, upto_position => 3, note => 'ticket 8')")
        try await scene.tell("e")
        let taken = try await scene.take(lease, after: 4)
        #expect(taken.map(\.line) == ["next 5", "redelivery 2", "redelivery 3", "through 5", "redelivered_through 3"])
        #expect(taken[1].redelivery == 1 && taken[1].heldMilliseconds == nil)
        #expect(
            try await scene.take(lease, after: 5, inFlight: [2], redelivered: 1).map(\.line) == ["redelivery 3", "redelivered_through 3"]
        )
        #expect(try await scene.take(lease, after: 5, redelivered: 0).isEmpty)
        var breaker = Breaker(redelivered: [(1, 2)])
        try await scene.settle(lease, [Report(position: 2, redelivery: 1)], breaker)
        #expect(try await scene.lines("SELECT concat_ws(' ', state, after, sent) FROM appstore.redeliveries") == ["open 2 1"])
        breaker.redelivered = [(1, 3)]
        try await scene.settle(lease, [.failed(3)], breaker)
        #expect(
            try await scene.lines("SELECT concat_ws(' ', state, after, sent, note) FROM appstore.redeliveries") == ["done 3 1 ticket 8"]
        )
        #expect(
            try await scene.lines(
                "SELECT concat_ws(' ', position, is_redelivery) FROM appstore.deliveries WHERE attempt_id > 4 ORDER BY attempt_id"
            )
                == ["2 t", "3 f"]
        )
    }
}
