import AppStore
import InboxTesting
import Outbox
import Postgres
import PostgresTesting
import Testing

@testable import Backfill

struct ReconcileServiceTests {
    private static func service(
        _ pool: ConnectionPool,
        lanes: Set<CallLane>,
        environments: Set<AppStoreEnvironment> = [.production]
    ) -> ReconcileService {
        var configuration = ReconcileService.Configuration()
        configuration.environments = environments
        configuration.sample = 0
        configuration.pause = .milliseconds(20)
        return ReconcileService(pool: pool, configuration: configuration, lanes: { lanes }, logger: .silent)
    }

    @Test func `the service asks about the apps that have a key, in the environments of the setting`() async throws {
        try await ReconcileScene.with { scene in
            let recently = #""current_period_end": "2026-01-01T00:00:00Z""#
            try await scene.contract("1", recently)
            try await scene.contract("2", recently, environment: "Sandbox")
            // The service uses today's clock.
            try await scene.run(
                """
                UPDATE appstore.transactions SET expires_date = now() - interval '2 hours';
                UPDATE appstore.contracts SET current_period_end = now() - interval '2 hours', access_until = now() - interval '2 hours'
                """
            )
            let lanes: Set = [CallLane(ReconcileScene.app, .production), CallLane(ReconcileScene.app, .sandbox)]
            let pool = try scene.database.pool(user: "appstore_worker")
            let asked: Statement = "SELECT original_transaction_id FROM appstore.reconcile_questions ORDER BY 1"
            #expect(try await Self.service(pool, lanes: []).step() == false)
            #expect(try await Self.service(pool, lanes: lanes, environments: []).step() == false)
            #expect(try await scene.database.lines(asked) == [])
            #expect(try await Self.service(pool, lanes: lanes).step() == false)
            #expect(try await scene.database.lines(asked) == ["1"])
            #expect(try await Self.service(pool, lanes: lanes, environments: [.production, .sandbox]).step() == false)
            #expect(try await scene.database.lines(asked) == ["1", "2"])
            let numbers = try await pool.withConnection { connection in
                try ReconcileStatistics(try await connection.query(ReconcileStatistics.statement)[0])
            }
            #expect(numbers.rules.count == 7 && numbers.rules.contains { $0.name == "expired_silent" && $0.questions == 2 })
            #expect(numbers.wrongRatio == nil)
            await pool.close()
        }
    }
}
