import InboxTesting
import Postgres
import SQL
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

    @Test func `an event about several contracts is one about each`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.run(
                """
                SELECT public.event(1, NULL, 'client_receipt', '2026-01-01T00:55:00Z');
                INSERT INTO appstore.event_contracts VALUES ('Production', '1', 1)
                """
            )
            #expect(try await scene.askedHours([1, 1.1, 1.2]) == [1.2])
        }
    }

    @Test func `nothing is asked while events have waited in the inbox for a minute`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.run("INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) VALUES (1, '2026-01-01T00:58:00Z', 1)")
            #expect(try await scene.step(1) == [])
            // One that is repeated is due again, too.
            try await scene.run("UPDATE appstore.inbox_queue SET attempts = 1")
            #expect(try await scene.step(1) == [])
            try await scene.run("UPDATE appstore.inbox_queue SET run_at = '2026-01-03T00:00:00Z'")
            #expect(try await scene.step(1) == ["expired_silent 1"])
        }
    }

    @Test func `a call is made only if nothing was heard of its contract since it was written`() async throws {
        try await ReconcileScene.with { scene in
            for id in ["1", "2"] { try await scene.contract(id) }
            #expect(try await scene.step(1).count == 2)
            try await scene.run("SELECT public.event(1, '1', 'notification_v2', now() - interval '14 minutes')")
            try await scene.run("INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) VALUES (1, now() - interval '2 minutes', 1)")
            func lease() async throws -> [String] {
                let lease = Statement.outboxLeaseCalls(
                    bundleIDs: [ReconcileScene.app],
                    environments: ["Production"],
                    kinds: ["subscription_statuses"],
                    limit: 9,
                    lease: .seconds(60)
                )
                return try await scene.database.withConnection(user: "appstore_worker") { connection in
                    try await connection.query(lease).map { String(decoding: try $0.decode("payload", as: [UInt8].self), as: UTF8.self) }
                }
            }
            #expect(try await lease() == [])
            try await scene.run("DELETE FROM appstore.inbox_queue")
            #expect(try await lease() == [#"{"path": ["2"]}"#])
            try await scene.run("UPDATE appstore.outcomes SET received_at = now() - interval '16 minutes'")
            #expect(try await lease() == [#"{"path": ["1"]}"#])
        }
    }

    @Test func `a user with several Apple IDs is several customers`() async throws {
        try await ReconcileScene.with { scene in
            for id in ["1", "2"] { try await scene.contract(id, #""user_id": "anna", "renewal_app_transaction_id": "\#(id)""#) }
            #expect(try await scene.step(1) == ["expired_silent 1", "expired_silent 2"])
        }
    }

    @Test func `a question waits for the open call of another app about the same id`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.database.withConnection(user: "appstore_operator") { connection in
                _ = try await connection.query("SELECT appstore.ask_apple('subscription_statuses', '1', 'com.example.other', 'Production')")
            }
            #expect(try await scene.step(1) == [])
            await #expect(throws: PostgresError.self) {
                try await scene.database.withConnection(user: "appstore_operator") { connection in
                    _ = try await connection.query("SELECT appstore.reconcile_contract('1')")
                }
            }
            try await scene.refuseCalls()
            #expect(try await scene.askedHours([1.5, 2]) == [2])
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
            #expect(try await scene.database.lines(step) == ["200 true"])
            #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.reconcile_watches") == ["2500"])
            // While 2,000 calls are open, no more are written but 200 of rules that ask little.
            for _ in 3...11 { #expect(try await scene.database.lines(step) == ["200 true"]) }
            #expect(try await scene.database.lines(step) == ["0 false"])
        }
    }

    @Test func `contracts in billing retry come after the others`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.run(#"SELECT public.contract('r' || n, '{"status": 3}') FROM generate_series(1, 500) AS n"#)
            #expect(try await scene.step(24).count == 200)
            try await scene.contract("1", #""current_period_end": "2026-01-01T23:03:00Z", "access_until": "2026-01-01T23:03:00Z""#)
            #expect(try await scene.step(24.1).first == "expired_silent 1")
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
