import InboxTesting
import Postgres
import SQL
import Testing

/// Who serves an endpoint.
struct EndpointLeaseTests {
    @Test func `an endpoint has one lease at a time, and one that was lost has no effect`() async throws {
        let scene = try await EndpointScene.make()
        let first = try #require(try await scene.lease().first)
        #expect(first.position == 0 && first.openForMilliseconds == nil && first.failingForMilliseconds == nil)
        #expect(try await scene.lease() == [])
        try await scene.tell("a")
        try await scene.run("UPDATE appstore.endpoints SET leased_until = now() - interval '1 second'")
        #expect(try await scene.poll([first], after: [0]) == ["crm": true], "no other worker has taken it")
        try await scene.run("UPDATE appstore.endpoints SET leased_until = now() - interval '1 second'")
        let second = try #require(try await scene.lease().first)
        #expect(second.epoch == first.epoch + 1)
        #expect(try await scene.poll([first], after: [0]) == [:])
        #expect(try await scene.take(first, after: 0).isEmpty)
        #expect(try await !scene.settle(first, upTo: 1, [.failed(1)], Breaker(disableBecause: "gone")))
        #expect(try await scene.endpoint("concat_ws(' ', position, state, last_error)") == "0 enabled")
        #expect(try await scene.lines("SELECT attempt_id::text FROM appstore.delivery_attempts") == [])
        #expect(try await scene.open() == [])
        #expect(try await scene.settle(second, upTo: 1, [Report(position: 1)]))
        #expect(try await scene.endpoint("position") == "1")
    }

    @Test func `many workers that lease at once share the endpoints`() async throws {
        let scene = try await EndpointScene.make()
        for number in 1...19 { try await scene.operate("SELECT appstore.make_endpoint(\("e\(number)"), 'https://example.com/')") }
        let names = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<4 { group.addTask { try await scene.lease(5).map(\.name) } }
            return try await group.reduce(into: [String]()) { $0 += $1 }
        }
        let rest = try await scene.lease(20).map(\.name)
        #expect(Set(names + rest).count == 20 && names.count + rest.count == 20)
    }

    @Test func `a poll renews a lease only when less than half of it is left, and writes nothing else`() async throws {
        let scene = try await EndpointScene.make()
        let leases = try await scene.lease()
        let version = { try await scene.endpoint("xmin") }
        let before = try await version()
        #expect(try await scene.poll(leases, after: [0]) == ["crm": false])
        #expect(try await version() == before)
        try await scene.run("UPDATE appstore.endpoints SET leased_until = now() + interval '14 seconds'")
        #expect(try await scene.poll(leases, after: [0]) == ["crm": false])
        #expect(try await scene.endpoint("leased_until > now() + interval '25 seconds'") == "true")
    }

    @Test func `there is work when the feed goes on, a delivery is due, or a redelivery is open`() async throws {
        let scene = try await EndpointScene.make()
        let leases = try await scene.lease()
        try await scene.tell("a")
        #expect(try await scene.poll(leases, after: [0]) == ["crm": true])
        try await scene.settle(leases[0], upTo: 1, [.failed(1, "a")])
        #expect(try await scene.poll(leases, after: [1]) == ["crm": false])
        try await scene.run("UPDATE appstore.open_deliveries SET run_at = now()")
        #expect(try await scene.poll(leases, after: [1]) == ["crm": true])
        try await scene.settle(leases[0], [Report(position: 1, subject: "a")])
        #expect(try await scene.poll(leases, after: [1]) == ["crm": false])
        try await scene.operate("SELECT appstore.redeliver('crm')")
        #expect(try await scene.poll(leases, after: [1]) == ["crm": true])
    }

    @Test func `a worker that shuts down gives the endpoint to another at once`() async throws {
        let scene = try await EndpointScene.make()
        let lease = try #require(try await scene.lease().first)
        _ = try await scene.query(.releaseEndpoint(name: "crm", epoch: lease.epoch + 1))
        #expect(try await scene.lease() == [])
        _ = try await scene.query(.releaseEndpoint(name: "crm", epoch: lease.epoch))
        #expect(try await scene.lease().map(\.epoch) == [lease.epoch + 1])
    }

    @Test func `what is in flight when an endpoint is paused still counts, and nothing new is sent`() async throws {
        let scene = try await EndpointScene.make()
        let lease = try #require(try await scene.lease().first)
        try await scene.tell("a", "b")
        try await scene.operate("SELECT appstore.pause_endpoint('crm', 'ticket 7')")
        #expect(try await scene.poll([lease], after: [0]) == [:])
        #expect(try await scene.take(lease, after: 0).isEmpty)
        #expect(try await scene.settle(lease, upTo: 1, [Report(position: 1, subject: "a")]))
        #expect(try await scene.lease() == [])
        try await scene.operate("SELECT appstore.resume_endpoint('crm')")
        #expect(try await !scene.settle(lease, upTo: 2, [Report(position: 2, subject: "b")]), "a resume ends leases")
        #expect(try await scene.lease().map(\.position) == [1])
    }

    @Test func `an endpoint that is removed takes its lease and its exceptions along`() async throws {
        let scene = try await EndpointScene.make()
        let lease = try #require(try await scene.lease().first)
        try await scene.tell("a")
        try await scene.settle(lease, upTo: 1, [.failed(1, "a")])
        try await scene.operate("SELECT appstore.redeliver('crm')", "SELECT appstore.remove_endpoint('crm')")
        #expect(try await scene.poll([lease], after: [1]) == [:])
        #expect(try await !scene.settle(lease, upTo: 1, [Report(position: 1)]))
        #expect(
            try await scene.lines(
                "SELECT (SELECT count(*) FROM appstore.open_deliveries) || ' ' || (SELECT count(*) FROM appstore.redeliveries) || ' ' || (SELECT count(*) FROM appstore.delivery_attempts)"
            ) == ["0 0 1"]
        )
    }

    @Test func `an endpoint that is made again under its name is another one`() async throws {
        let scene = try await EndpointScene.make()
        let removed = try #require(try await scene.lease().first)
        try await scene.operate("SELECT appstore.remove_endpoint('crm')", "SELECT appstore.make_endpoint('crm', 'https://example.org/')")
        let made = try #require(try await scene.lease().first)
        try await scene.tell("a")
        #expect(try await scene.poll([removed], after: [0]) == [:])
        #expect(try await scene.take(removed, after: 0).isEmpty)
        #expect(try await !scene.settle(removed, upTo: 1, [Report(position: 1, subject: "a")]))
        #expect(try await scene.take(made, after: 0).map(\.line) == ["next 1", "through 1"])
    }

    @Test func `deliveries that have ended cost nothing while a snapshot that sees them is held`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell(all: Array(repeating: nil, count: 401))
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 400, (1...400).map { .failed($0, wait: 0) })
        try await scene.database.withConnection { holder in
            try await holder.withTransaction { transaction in
                try await transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                try await transaction.execute("SELECT FROM appstore.endpoints")
                for first in stride(from: Int64(1), to: 400, by: 100) {
                    try await scene.settle(lease, (first..<first + 100).map { Report(position: $0) })
                }
                #expect(try await scene.exceptionsRead(by: .polling([lease], after: [400])) == 0)
                #expect(try await scene.exceptionsRead(by: .taking(lease, after: 400)) == 0)
                #expect(try await scene.exceptionsRead(by: .settling(lease, upTo: 401, [Report(position: 401)])) == 0)
            }
        }
    }

    @Test func `what becomes due earlier than expected is seen`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "b", "b")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 4, [.failed(1, "a"), .failed(2, "b"), .held(3, "b"), .held(4, "b")])
        #expect(try await scene.poll([lease], after: [4]) == ["crm": false])
        try await scene.operate("SELECT appstore.redeliver('crm', upto_position => 1, only_failed => true)")
        #expect(try await scene.poll([lease], after: [4]) == ["crm": true])
        #expect(try await scene.take(lease, after: 4).map(\.line) == ["due 1"])
        try await scene.settle(lease, [Report(position: 1, subject: "a")])
        #expect(try await scene.poll([lease], after: [4]) == ["crm": false])
        try await scene.operate(#"SELECT appstore.change_endpoint('crm', '{"keeps_order": false}')"#)
        #expect(try await scene.poll([lease], after: [4]) == ["crm": true])
        #expect(try await scene.take(lease, after: 4).map(\.line) == ["due 4"])
    }

    @Test func `the previous secret signs for a day`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.operate("SELECT appstore.rotate_endpoint_secret('crm')")
        #expect(try await scene.endpoint("secret_generation") == "2")
        #expect(try await scene.lease().map(\.hasPrevious) == [true])
        try await scene.run("UPDATE appstore.endpoints SET rotated_at = now() - interval '25 hours', leased_until = NULL")
        #expect(try await scene.lease().map(\.hasPrevious) == [false])
    }

    @Test func `after a failover no worker goes on from a position of before`() async throws {
        let scene = try await EndpointScene.make()
        let lease = try #require(try await scene.lease().first)
        try await scene.tell("a", "b", "c")
        // The last two entries are lost; the cursor of the worker is ahead of the feed.
        try await scene.run(
            "DELETE FROM appstore.feed WHERE position > 1; UPDATE appstore.feed_head SET position = 1, cluster = 'another', told_snapshot = NULL"
        )
        #expect(try await scene.poll([lease], after: [3]) == [:])
        #expect(try await scene.settle(lease, upTo: 3, [Report(position: 2, subject: "b"), .failed(3, "c")]))
        #expect(try await scene.endpoint("position") == "1")
        #expect(try await scene.open() == [])
        try await scene.tell("d")
        #expect(try await !scene.settle(lease, upTo: 2, []), "the step that begins another generation ends all leases")
        let next = try #require(try await scene.lease().first)
        #expect(next.position == 1)
        #expect(try await scene.take(next, after: 1).map(\.line) == ["next 2", "through 2"])
    }
}
