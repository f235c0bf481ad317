import AppStore
import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

@testable import Outbox

/// A database that goes away, and secrets that must not come to light.
@Suite(.timeLimit(.minutes(3)))
struct OutboxTroubleTests {
    /// Lets nobody into the database, and ends who is in it; or lets all in again.
    private func open(_ database: TestDatabase, _ isOpen: Bool) async throws {
        let url = database.cluster.url(database: "postgres", user: "postgres")
        let connection = try await Connection.open(ConnectionOptions(url), logger: .silent)
        let allowed = isOpen ? "true" : "false"
        _ = try await connection.execute("ALTER DATABASE \(identifier: database.name) ALLOW_CONNECTIONS \(unsafeRaw: allowed)")
        if !isOpen {
            _ = try await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = \(database.name)")
        }
        await connection.close()
    }

    @Test func `a database that goes away is waited for, and the calls are made when it is back`() async throws {
        let scene = try await OutboxScene(Simulated.store(steps: [.answer.by(.whenReleased)]))
        let call = try await scene.call()
        try await scene.running {
            for await _ in scene.server.questions { break }
            // It goes while somebody is asked, so that there is nowhere to put the answer.
            try await open(scene.database, false)
            scene.server.release()
            await scene.log.lines(with: "warning: the outbox cannot reach its calls")
            await scene.log.lines(with: "debug: the outbox cannot reach its calls", count: 3)
            try await open(scene.database, true)
            await scene.log.lines(with: "notice: the outbox reaches its calls again")
            // The lease of the answer that was lost runs out.
            try await scene.endLeases()
            await scene.log.lines(with: "call answered")
        }
        #expect(scene.log.lines.filter { $0.hasPrefix("warning: the outbox cannot reach") }.count == 1)
        #expect(try await scene.answers() == ["verify_receipt \(call) 1"])
        #expect(try await scene.calls() == ["answered 1 f"])
        await scene.server.stop()
    }

    @Test func `numbers of the outbox are there as long as the database is`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        let collector = OutboxCollector(pool: pool, logger: scene.log.logger)
        #expect(collector.latest == nil)
        await collector.collect()
        #expect(collector.latest?.open == 0 && collector.latest?.oldest == nil)
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
        #expect(collector.latest?.open == 2)
        #expect(try #require(collector.latest?.oldest) >= .seconds(3600))
        try await open(scene.database, false)
        await collector.collect()
        await collector.collect()
        #expect(collector.latest == nil)
        #expect(scene.log.lines.map { $0.prefix { $0 != ":" } } == ["warning", "debug"])
        try await open(scene.database, true)
        await collector.collect()
        #expect(collector.latest?.open == 2)
        #expect(scene.log.lines.last == "notice: the outbox's numbers can be read again")
        await pool.close()
        await scene.server.stop()
    }

    @Test func `a secret is in no table and no line of the log, whatever happens to its question`() async throws {
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
        #expect(Set(scene.server.asked.compactMap(\.password)) == [wrong, right])
        for secret in [wrong, right] {
            #expect(scene.log.lines.filter { $0.contains(secret) } == [])
            #expect(try await tables(with: secret, in: scene.database) == [])
        }
        // The search finds what is there.
        #expect(try await tables(with: Simulated.receiptData, in: scene.database) == ["inbox"])
        #expect(scene.log.lines.filter { $0.contains(Simulated.receiptData) } == [])
        await scene.server.stop()
    }

    /// The tables with a row in which that text is, as text or as bytes.
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
