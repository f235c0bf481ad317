import AppStore
import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

@testable import Outbox

/// Database outages, and secrets that must not leak.
@Suite(.timeLimit(.minutes(3)))
struct OutboxTroubleTests {
    /// Allows connections to the database; or refuses them, and ends all open ones.
    private func allowConnections(_ isOpen: Bool, to database: TestDatabase) async throws {
        let url = database.cluster.url(database: "postgres", user: "postgres")
        let connection = try await Connection.open(ConnectionOptions(url), logger: .silent)
        let allowed = isOpen ? "true" : "false"
        _ = try await connection.execute("ALTER DATABASE \(identifier: database.name) ALLOW_CONNECTIONS \(unsafeRaw: allowed)")
        if !isOpen {
            _ = try await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = \(database.name)")
        }
        await connection.close()
    }

    @Test func `calls wait for an unavailable database, and are made when it is back`() async throws {
        let scene = try await OutboxScene(Simulated.store(steps: [.answer.by(.whenReleased)]))
        let call = try await scene.call()
        try await scene.running {
            for await _ in scene.server.requests { break }
            // The database becomes unavailable during a call, so that the answer cannot be stored.
            try await allowConnections(false, to: scene.database)
            scene.server.release()
            await scene.log.lines(with: "debug: the outbox cannot use the database", count: 3)
            try await allowConnections(true, to: scene.database)
            // The lease of the lost answer expires.
            try await scene.endLeases()
            await scene.log.lines(with: "call answered")
        }
        // An outage is reported for the whole process.
        #expect(scene.log.lines.allSatisfy { !$0.hasPrefix("warning:") })
        #expect(try await scene.answers() == ["verify_receipt \(call) 1"])
        #expect(try await scene.calls() == ["answered 1 f"])
        await scene.server.stop()
    }

    @Test func `the outbox's statistics are available while the database is`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        let collector = StatisticsCollector<OutboxStatistics>(pool: pool, logger: scene.log.logger)
        #expect(collector.latest == nil)
        await collector.collect()
        #expect(collector.latest?.numbers.open == 0 && collector.latest?.numbers.oldest == nil)
        for key in 0..<3 { try await scene.call(key: "\(key)") }
        _ = try await scene.database.withConnection { connection in
            try await connection.execute(
                """
                UPDATE appstore.outbox SET asked_at = clock_timestamp() - interval '1 hour', run_at = clock_timestamp() + interval '1 day'
                WHERE call_key = '1'
                """
            )
            try await connection.execute(
                "UPDATE appstore.outbox SET state = 'given_up', reason = 'x', settled_at = clock_timestamp() WHERE call_key = '2'"
            )
        }
        await collector.collect()
        #expect(collector.latest?.numbers.open == 2)
        #expect(try #require(collector.latest?.numbers.oldest) >= .seconds(3600))
        try await allowConnections(false, to: scene.database)
        await collector.collect()
        await collector.collect()
        #expect(collector.latest == nil)
        #expect(scene.log.lines.map { $0.prefix { $0 != ":" } } == ["debug", "debug"])
        try await allowConnections(true, to: scene.database)
        await collector.collect()
        #expect(collector.latest?.numbers.open == 2)
        await pool.close()
        await scene.server.stop()
    }

    @Test func `a secret is in no table and no log line, whatever the outcome of its request`() async throws {
        let (wrong, right) = ("wrong-secret-7f3a9c", "right-secret-e81b04")
        let steps: [VerifyReceiptScript.Step] = [
            .answer.by(.reset), .page(status: 500), .status(.wrongSharedSecret), .status(.malformedReceiptData),
        ]
        var scene = try await OutboxScene(Simulated.store(secrets: [right], steps: steps))
        scene.secrets = [wrong, right]
        try await scene.call()
        try await scene.call(about: "dW5rbm93bg==", key: "unknown")
        try await scene.running { [scene] in
            await scene.log.lines(with: "call answered")
            await scene.log.lines(with: "call refused")
        }
        #expect(Set(scene.server.received.compactMap(\.password)) == [wrong, right])
        for secret in [wrong, right] {
            #expect(scene.log.lines.filter { $0.contains(secret) } == [])
            #expect(try await tables(with: secret, in: scene.database) == [])
        }
        // The search finds a text that is stored.
        #expect(try await tables(with: Simulated.receiptData, in: scene.database) == ["inbox"])
        #expect(scene.log.lines.filter { $0.contains(Simulated.receiptData) } == [])
        await scene.server.stop()
    }

    /// The tables with a row that contains the text, as text or as bytes.
    private func tables(with text: String, in database: TestDatabase) async throws -> [String] {
        let hex = text.utf8.map { String($0, radix: 16) }.joined()
        let tables = try await database.lines(
            """
            SELECT c.relname::text FROM pg_class AS c
            WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
            """
        )
        #expect(tables.contains("outbox") && tables.contains("inbox") && tables.count > 10)
        var found: [String] = []
        for table in tables {
            let count = try await database.lines(
                """
                SELECT count(*)::text FROM appstore.\(identifier: table) AS t
                WHERE position(\(text) IN t::text) > 0 OR position(\(hex) IN t::text) > 0
                """
            )
            if count != ["0"] { found.append(table) }
        }
        return found
    }
}
