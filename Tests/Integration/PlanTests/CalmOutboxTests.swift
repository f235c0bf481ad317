import AppStore
import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

@testable import Outbox

/// On most days calls are answered at once, and statistics show no open call. Sessions keep plans of such a day during an outage of Apple.
struct CalmOutboxTests {
    private static let answered = """
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, deadline_at, state, settled_at)
        SELECT 'verify_receipt', 'answered ' || n, 'b', n, now() + interval '1 day', 'answered', now() FROM generate_series(1, 20000) AS n
        """

    /// Calls whose fallback was used, and which are due later.
    private static let waiting = """
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, asked_at, deadline_at, run_at, fallback_source, fallback_event_id)
        SELECT 'verify_receipt', 'waiting ' || n, 'b', n, now() - interval '1 hour', now() + interval '1 day', now() + interval '1 hour',
               'unanswered_receipt', n
        FROM generate_series(1, 20000) AS n
        """

    private static func due(_ round: Int) -> String {
        """
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, deadline_at)
        SELECT 'verify_receipt', 'due \(round) ' || n, 'b', n, now() + interval '1 day' FROM generate_series(1, 4) AS n
        """
    }

    @Test func `settling a call reads no more when many calls wait`() async throws {
        let database = try await PlanScene.make()
        func run(_ script: String) async throws {
            try await database.withConnection { connection in
                try await connection.runScript(script)
                _ = try await connection.query("SELECT FROM pg_stat_force_next_flush()")
            }
        }
        try await run(Self.answered)
        try await run("VACUUM ANALYZE appstore.outbox")
        var options = try ConnectionOptions(database.url(user: "appstore_worker"))
        options.applicationName = "calm"
        let pool = ConnectionPool(options: options, configuration: .init(maxConnections: 1), logger: .silent)
        let lender = try database.pool(user: "appstore_worker", connections: 1)
        for round in 1...3 {
            try await run(Self.due(round))
            try await work(pool, on: try await lease(lender))
        }
        // Reports the reads so far, which are not part of the measurement.
        _ = try await pool.withConnection { try await $0.query("SELECT FROM pg_stat_force_next_flush()") }
        try await run(Self.waiting)
        try await run(Self.due(4))
        let calls = try await lease(lender)
        let reads = try await database.reads(by: "calm") {
            try await work(pool, on: calls)
            await pool.close()
        }
        await lender.close()
        let outbox = try #require(reads["outbox"])
        #expect(outbox.sequentialScans == 0)
        #expect(outbox.entries <= 400)
        #expect(outbox.pages <= 2000)
    }

    private func lease(_ pool: ConnectionPool) async throws -> [LeasedCall] {
        let calls = try await OutboxStore(pool: pool).lease(
            ["verify_receipt"],
            in: [CallLane("b", .production)],
            atMost: 4,
            for: .seconds(120)
        )
        try #require(calls.count == 4)
        // Reports the reads so far, which are not part of the measurement.
        _ = try await pool.withConnection { try await $0.query("SELECT FROM pg_stat_force_next_flush()") }
        return calls
    }

    /// Settles four calls in different ways; nothing has aged.
    private func work(_ pool: ConnectionPool, on calls: [LeasedCall]) async throws {
        let store = OutboxStore(pool: pool)
        #expect(try await store.settle(calls[0], .postpone(reason: "by_test", by: .seconds(3600))))
        #expect(try await store.settle(calls[1], .refuse(reason: "by_test")))
        #expect(try await store.settle(calls[2], .answer([Array("an answer".utf8)])))
        try await store.release(calls[3])
        let aged = try await pool.withConnection { try await MaintenanceTask.ageCalls.step(on: $0) }
        #expect(aged == nil)
    }
}
