import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// When nothing is asked although a rule holds.
struct ReconcileLimitTests {
    @Test func `nothing is asked within fifteen minutes of another event about the contract`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.contract("2", #""renewal_signed_date": "2026-01-01T00:55:00Z""#)
            try await scene.run("SELECT public.event(1, '1', 'notification_v2', '2026-01-01T00:50:00Z', 'superseded')")
            #expect(try await scene.step(1) == [])
            let next: Statement =
                "SELECT (next_at AT TIME ZONE 'UTC')::time::text FROM appstore.reconcile_watches ORDER BY original_transaction_id"
            #expect(try await scene.database.lines(next) == ["01:05:00", "01:10:00"])
            #expect(try await scene.step(1.1) == ["expired_silent 1"])
            #expect(try await scene.step(1.2) == ["expired_silent 2"])
        }
    }

    @Test(arguments: [#""user_id": "anna""#, #""renewal_app_transaction_id": "704""#])
    func `a customer is asked about once a day`(customer: String) async throws {
        try await ReconcileScene.with { scene in
            for id in ["1", "2"] { try await scene.contract(id, customer) }
            try await scene.contract("3")
            let first = try await scene.step(1)
            #expect(first.count == 2 && first.last == "expired_silent 3")
            try await scene.refuseCalls()
            for hour in [2, 24.5] { #expect(try await scene.step(hour) == []) }
            let second = try await scene.step(25)
            #expect(second.count == 2 && second.last == "expired_silent 3")
        }
    }

    @Test func `only the apps and environments of the worker are asked about`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1", environment: "Sandbox")
            #expect(try await scene.step(1) == [])
            #expect(try await scene.step(1, bundles: "com.example.other", environments: "Sandbox") == [])
            #expect(
                try await scene.step(1, bundles: "com.example.app,com.example.app", environments: "Production,Sandbox") == [
                    "expired_silent 1"
                ]
            )
        }
    }

    @Test func `one worker at a time takes a step`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            let step: Statement =
                "SELECT asked::text AS asked FROM appstore.reconcile('{com.example.app}', '{Production}', 0, '2026-01-01T01:00:00Z')"
            try await scene.database.withConnection(user: "appstore_worker") { first in
                try await first.withTransaction { transaction in
                    #expect(try await transaction.query(step)[0].decode("asked", as: String?.self) == "1")
                    let other = try await scene.database.withConnection(user: "appstore_worker") { try await $0.query(step)[0] }
                    #expect(try other.decode("asked", as: String?.self) == nil)
                }
            }
        }
    }

    @Test func `two hundred questions of an app are written in a step, and thousands of ends are found in several`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.run(
                """
                SELECT public.contract('c' || n, jsonb_build_object('current_period_end', '2026-01-01T00:00:00Z'::timestamptz - n * interval '1 second'))
                FROM generate_series(1, 2500) AS n
                """
            )
            let step: Statement = """
                SELECT asked || ' ' || has_more FROM appstore.reconcile('{com.example.app}', '{Production}', 0, '2026-01-01T05:00:00Z')
                """
            #expect(try await scene.database.lines(step) == ["200 true"])
            #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.reconcile_watches") == ["2000"])
            #expect(try await scene.database.lines(step) == ["200 false"])
            #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.reconcile_watches") == ["2500"])
        }
    }

    @Test func `a call that is open already serves the question, too`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.database.withConnection(user: "appstore_operator") { connection in
                _ = try await connection.query("SELECT appstore.reconcile_contract('1')")
            }
            // The operator's question counts as the customer's of today, which is long after 2026-01-01.
            try await scene.run("UPDATE appstore.reconcile_questions SET asked_at = '2025-12-01'")
            #expect(try await scene.step(1) == ["expired_silent 1"])
            #expect(try await scene.database.lines("SELECT DISTINCT call_id::text FROM appstore.reconcile_questions").count == 1)
        }
    }
}
