import InboxTesting
import Postgres
import Testing

/// What becomes of attempts.
struct EndpointSettleTests {
    @Test func `an endpoint that works leaves one row and its attempts`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b")
        let lease = try #require(try await scene.lease().first)
        #expect(
            try await scene.settle(lease, upTo: 2, [Report(position: 1, subject: "a"), Report(position: 2, subject: "b", status: 204)])
        )
        #expect(try await scene.open() == [])
        #expect(
            try await scene.lines(
                "SELECT concat_ws(' ', endpoint, position, type, subject, result, status, milliseconds, answer, error) FROM appstore.deliveries ORDER BY attempt_id"
            ) == ["crm 1 effect.granted a delivered 200 12", "crm 2 effect.granted b delivered 204 12"]
        )
        #expect(try await scene.endpoint("concat_ws(' ', position, succeeded_at > now() - interval '1 minute', last_error)") == "2 t")
        #expect(try await scene.settle(lease, upTo: 1, []))
        #expect(try await scene.settle(lease, []))
        #expect(try await scene.endpoint("position") == "2", "the cursor only moves on")
    }

    @Test func `each result has its exception`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "c", "d", "e", "f")
        let lease = try #require(try await scene.lease().first)
        let report = { (position: Int64, result: String, attempts: Int, wait: Int?) in
            Report(
                position: position,
                result: result,
                attempts: attempts,
                wait: wait,
                status: nil,
                answer: String(repeating: "ä", count: 5000),
                error: result
            )
        }
        try await scene.settle(
            lease,
            upTo: 6,
            [
                report(1, "failed", 1, 60_000), report(2, "refused", 3, 300_000), report(3, "later", 0, 60_000),
                report(4, "probe_failed", 0, nil),
                report(5, "given_up", 10, nil), report(6, "delivered", 1, nil),
            ]
        )
        #expect(try await scene.open() == ["1 1 in 60", "2 3 in 300", "3 0 in 60", "5 10 given up"])
        #expect(try await scene.lines("SELECT max(char_length(answer))::text FROM appstore.delivery_attempts") == ["4096"])
        #expect(try await scene.endpoint("last_error") == "given_up")
        #expect(
            try await scene.lines("SELECT concat_ws(' ', open, given_up, last_error, breaker, lag) FROM appstore.endpoint_status")
                == ["3 1 given_up closed 0"]
        )
        #expect(
            try await scene.lines(
                "SELECT concat_ws(' ', name, state, lag, oldest_undelivered_seconds > 0, open_deliveries, given_up) FROM appstore.endpoint_statistics()"
            ) == ["crm enabled 0 t 3 1"]
        )
        // The first failure holds the subject; later ones do not make it longer.
        let first = try await scene.lines("SELECT first_failed_at::text FROM appstore.open_deliveries WHERE position = 1")
        try await scene.settle(lease, [.failed(1, "a", attempts: 2, wait: 300_000), report(4, "delivered", 1, nil)])
        #expect(try await scene.lines("SELECT first_failed_at::text FROM appstore.open_deliveries WHERE position = 1") == first)
        try await scene.settle(lease, [Report(position: 1), Report(position: 2), Report(position: 3), Report(position: 5)])
        #expect(try await scene.open() == [])
    }

    @Test func `the state of the breaker is that of the lease holder, and outlives it`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, [.failed(1, "a")], Breaker(failures: 5, isFailing: true, openForMilliseconds: 20_000, probes: 2))
        let since = try await scene.endpoint("failing_since")
        try await scene.settle(lease, [.failed(1, "a")], Breaker(failures: 6, isFailing: true, openForMilliseconds: 20_000, probes: 3))
        #expect(try await scene.endpoint("failing_since") == since)
        try await scene.run("UPDATE appstore.endpoints SET leased_until = NULL, failing_since = failing_since - interval '1 hour'")
        let next = try #require(try await scene.lease().first)
        #expect((15_000...20_000).contains(next.openForMilliseconds ?? 0))
        #expect((3_600_000...3_700_000).contains(next.failingForMilliseconds ?? 0))
        #expect(next.probes == 3)
        #expect(try await scene.lines("SELECT concat_ws(' ', breaker, failures) FROM appstore.endpoint_status") == ["open 6"])
        try await scene.settle(next, upTo: 1, [Report(position: 1, subject: "a")])
        #expect(try await scene.endpoint("concat_ws(' ', failures, failing_since, open_until, probes)") == "0 0")
    }

    @Test func `an endpoint that is disabled says so in the feed and in the audit log, once`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a")
        let lease = try #require(try await scene.lease().first)
        for _ in 0..<2 { try await scene.settle(lease, upTo: 1, [.failed(1, "a")], Breaker(disableBecause: "answered 410")) }
        #expect(try await scene.endpoint("concat_ws(' ', state, why)") == "disabled answered 410")
        #expect(try await scene.poll([lease], after: [1]) == [:])
        try await scene.operate("SELECT appstore.resume_endpoint('crm')")
        try await scene.database.sequenceFeed()
        #expect(
            try await scene.lines("SELECT type || ' ' || data::text FROM appstore.feed WHERE position > 1")
                == [#"endpoint.disabled {"why": "answered 410", "endpoint": "crm"}"#]
        )
        #expect(
            try await scene.lines("SELECT concat_ws(' ', actor, action, note) FROM appstore.audit_log WHERE action = 'disable_endpoint'")
                == ["appstore_worker disable_endpoint answered 410"]
        )
        #expect(try await scene.endpoint("concat_ws(' ', state, why, failures, failing_since, open_until)") == "enabled 0")
    }

    @Test func `an endpoint is not locked while the worker that disables it waits for the switch of the feed`() async throws {
        let scene = try await EndpointScene.make()
        let lease = try #require(try await scene.lease().first)
        try await withThrowingTaskGroup { group in
            try await scene.database.withConnection { holder in
                try await holder.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE appstore.feed_switch IN ACCESS EXCLUSIVE MODE")
                    group.addTask { try await scene.settle(lease, [], Breaker(disableBecause: "answered 410")) }
                    try await scene.database.awaitLockWaiters(1)
                    try await transaction.execute("SELECT FROM appstore.endpoints FOR UPDATE NOWAIT")
                }
            }
            try await group.waitForAll()
        }
        #expect(try await scene.endpoint("state") == "disabled")
    }

    @Test func `an answer to the entry that names a forgotten user is not kept`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell(nil, type: "user.forgotten")
        try await scene.tell("a")
        let lease = try #require(try await scene.lease().first)
        try await scene.settle(lease, upTo: 2, [.failed(1), .failed(2, "a")])
        #expect(try await scene.lines("SELECT position::text FROM appstore.delivery_attempts WHERE answer IS NOT NULL") == ["2"])
    }

    @Test func `an endpoint costs one version of its row for each report, without touching an index`() async throws {
        let scene = try await EndpointScene.make()
        try await scene.tell("a", "b", "c", "d", "e", "f", "g", "h")
        let lease = try #require(try await scene.lease().first)
        for position in Int64(1)...8 { try await scene.settle(lease, upTo: position, [Report(position: position)]) }
        try await scene.database.awaitReports()
        #expect(
            try await scene.lines(
                "SELECT (n_tup_upd - n_tup_hot_upd) || ' ' || n_tup_upd FROM pg_stat_user_tables WHERE relname = 'endpoints'"
            ) == ["0 9"]
        )
    }
}
