import InboxTesting
import Postgres
import StoreSimulator
import StoreSimulatorServer
import Testing

/// Calls that no worker makes, and calls that were settled long ago.
@Suite(.timeLimit(.minutes(3)))
struct OutboxAgeTests {
    private func expire(_ scene: OutboxScene) async throws -> Int64? {
        let rows = try await scene.database.withConnection(user: "appstore_worker") { try await $0.query("SELECT appstore.expire_calls()") }
        return try rows.first?.decode(0, as: Int64.self)
    }

    @Test func `a call without a worker is given up an hour after its deadline, and can be repeated`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        var calls: [Int64] = []
        for key in 0..<5 { calls.append(try await scene.call(key: "\(key)")) }
        let long = "deadline_at = clock_timestamp() - interval '61 minutes'"
        try await scene.change("\(long), run_at = clock_timestamp() - interval '61 minutes', last_reason = 'timed_out'", of: calls[0])
        // Its lease expired long ago.
        try await scene.change("\(long), run_at = clock_timestamp() - interval '61 minutes', is_leased = true, epoch = 7", of: calls[1])
        // The first is leased, the second became due less than an hour ago, the third is before its deadline.
        try await scene.change("\(long), run_at = clock_timestamp() + interval '1 minute', is_leased = true, epoch = 1", of: calls[2])
        try await scene.change("\(long), run_at = clock_timestamp() - interval '59 minutes'", of: calls[3])
        try await scene.change("run_at = clock_timestamp() - interval '61 minutes'", of: calls[4])
        #expect(try await expire(scene) == 2)
        #expect(
            try await scene.calls() == ["given_up no_worker 0 f", "given_up no_worker 0 f", "open 0 t", "open 0 f", "open 0 f"]
        )
        #expect(try await expire(scene) == 0)
        _ = try await scene.database.withConnection(user: "appstore_operator") { connection in
            try await connection.execute("SELECT appstore.repeat_call(\(calls[0]), 'there is a secret now')")
        }
        try await scene.change("state = 'discarded', reason = 'by_test', settled_at = clock_timestamp(), is_leased = false", of: calls[2])
        try await scene.running { await scene.log.lines(with: "call answered", count: 3) }
        #expect(try await scene.database.lines("SELECT state FROM appstore.outbox WHERE call_id = \(calls[0])") == ["answered"])
        await scene.server.stop()
    }

    @Test func `the fallback of a deleted receipt is tried once`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        let call = try await scene.call(key: "1")
        let asked = "event_id = 999999, asked_at = now() - interval '2 minutes'"
        try await scene.change("fallback_source = 'unanswered_receipt', \(asked)", of: call)
        #expect(try await expire(scene) == 1)
        #expect(try await expire(scene) == 0)
        #expect(try await scene.calls() == ["open 0 f"])
        #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["0"])
        await scene.server.stop()
    }

    @Test func `calls that were settled more than thirty days ago are deleted, five hundred at once, oldest first`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        _ = try await scene.database.withConnection { connection in
            try await connection.execute(
                """
                INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, asked_at, deadline_at, run_at, state, reason, settled_at)
                SELECT 'verify_receipt', c.state || n, 'b', '\\x01', now() - interval '90 days', now() + interval '1 day', now(), c.state, 'x',
                       CASE WHEN c.state <> 'open' THEN now() - c.age END
                FROM generate_series(1, 201) AS n
                CROSS JOIN (VALUES ('refused', interval '30 days 1 minute'), ('given_up', '31 days'), ('discarded', '32 days'),
                                   ('answered', '29 days 23 hours'), ('open', NULL)) AS c (state, age)
                """
            )
        }
        let left: Statement = "SELECT concat_ws(' ', state, count(*)) FROM appstore.outbox GROUP BY state ORDER BY state"
        #expect(try await expire(scene) == 500)
        #expect(try await scene.database.lines(left) == ["answered 201", "open 201", "refused 103"])
        #expect(try await expire(scene) == 103)
        #expect(try await expire(scene) == 0)
        #expect(try await scene.database.lines(left) == ["answered 201", "open 201"])
        await scene.server.stop()
    }
}
