import InboxTesting
import Postgres
import Testing

/// What became of the questions.
struct ReconcileResultTests {
    /// Ends every call at hour 2: with an answer from event 10 on, or with another state.
    private static func end(_ scene: ReconcileScene, _ state: String = "answered") async throws {
        let reason = state == "answered" ? "NULL" : "'by_test'"
        let answer = state == "answered" ? "10" : "NULL"
        try await scene.run(
            """
            UPDATE appstore.outbox SET state = '\(state)', reason = \(reason), settled_at = '2026-01-01T02:00:00Z', answer_event_id = \(answer)
            WHERE state = 'open'
            """
        )
    }

    private static func results(_ scene: ReconcileScene) async throws -> [String] {
        try await scene.database.lines(
            "SELECT original_transaction_id || ' ' || coalesce(result, 'open') FROM appstore.reconcile_questions ORDER BY question_id"
        )
    }

    @Test func `an answer is compared with what the ledger said, when its event is settled`() async throws {
        try await ReconcileScene.with { scene in
            for id in ["1", "2", "3", "4"] { try await scene.contract(id) }
            try await scene.step(1)
            try await scene.step(1.5)
            #expect(try await Self.results(scene) == ["1 open", "2 open", "3 open", "4 open"])
            try await Self.end(scene)
            try await scene.step(2.1)
            #expect(try await Self.results(scene) == ["1 open", "2 open", "3 open", "4 open"])
            try await scene.run(
                """
                SELECT public.event(10, '1', 'subscription_status', '2026-01-01T02:10:00Z');
                SELECT public.event(11, '2', 'subscription_status', '2026-01-01T02:10:00Z', 'superseded');
                SELECT public.event(12, '3', 'notification_v2', '2026-01-01T01:10:00Z');
                SELECT public.event(13, '3', 'subscription_status', '2026-01-01T02:10:00Z');
                UPDATE appstore.contracts SET access_until = '2026-02-01' WHERE original_transaction_id IN ('1', '3');
                -- What the customer may use is the same.
                UPDATE appstore.contracts SET status = 2, will_renew = false WHERE original_transaction_id = '2'
                """
            )
            try await scene.step(2.2)
            #expect(try await Self.results(scene) == ["1 changed", "2 same", "3 overtaken", "4 open"])
            // An answer that does not name the contract within an hour never will.
            try await scene.step(3.1)
            #expect(try await Self.results(scene).last == "4 unanswered")
            #expect(
                try await scene.database.lines(
                    "SELECT concat_ws(' ', questions, answered, changed, wrong_ratio) FROM appstore.reconcile_status WHERE rule = 'expired_silent'"
                ) == ["4 2 1"]
            )
        }
    }

    @Test func `a question whose answer waits in the inbox stays open`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.step(1)
            try await Self.end(scene)
            try await scene.run("INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) VALUES (10, '2026-01-01T02:00:00Z', 1)")
            try await scene.step(5)
            #expect(try await Self.results(scene) == ["1 open"])
            try await scene.run(
                "DELETE FROM appstore.inbox_queue; SELECT public.event(10, '1', 'subscription_status', '2026-01-01T05:10:00Z', 'superseded')"
            )
            try await scene.step(5.2)
            #expect(try await Self.results(scene) == ["1 same"])
        }
    }

    @Test func `open questions of one app do not delay the results of another`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.run(
                """
                WITH call AS (
                    INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, deadline_at)
                    SELECT 'subscription_statuses', 'production:' || n, 'com.example.other', '\\x7b7d', now() + interval '1 day'
                    FROM generate_series(1, 2001) AS n RETURNING call_id
                )
                INSERT INTO appstore.reconcile_questions (environment, original_transaction_id, bundle_id, rule, asked_at, call_id)
                SELECT 'Production', call_id::text, 'com.example.other', 'sample', '2026-01-01T00:00:00Z', call_id FROM call
                """
            )
            try await scene.contract("c")
            try await scene.step(1)
            try await scene.run(
                "UPDATE appstore.outbox SET state = 'refused', reason = 'by_test', settled_at = now() WHERE call_key = 'production:c'"
            )
            try await scene.step(2)
            #expect(try await Self.results(scene).last == "c unanswered")
        }
    }

    @Test(arguments: ["refused", "given_up", "discarded"])
    func `a call that ends without an answer is no result`(state: String) async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.step(1)
            try await Self.end(scene, state)
            try await scene.step(2.1)
            #expect(try await Self.results(scene) == ["1 unanswered"])
        }
    }

    @Test func `an answer that the worker refused is no result`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.step(1)
            try await Self.end(scene)
            try await scene.run("SELECT public.event(10, '1', 'subscription_status', '2026-01-01T02:10:00Z', 'rejected')")
            try await scene.step(2.2)
            #expect(try await Self.results(scene) == ["1 unanswered"])
        }
    }

    @Test func `the doubt about a refund ends with what the history says of the charge`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1", #""will_renew": false"#)
            try await scene.run(
                """
                INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at)
                VALUES ('Production', '1.1', '1', '2025-12-30T00:00:00Z', '2025-12-30T12:00:00Z')
                """
            )
            #expect(try await scene.step(1) == ["revoked_doubt 1"])
            try await Self.end(scene)
            try await scene.run(
                """
                SELECT public.event(10, '1', 'transaction_info', '2026-01-01T02:10:00Z');
                UPDATE appstore.outcomes SET transaction_id = '1.1' WHERE event_id = 10;
                UPDATE appstore.transactions SET revocation_date = '2025-12-31'
                """
            )
            try await scene.step(2.2)
            #expect(try await Self.results(scene) == ["1 changed"])
        }
    }

    @Test func `the share of a sample that was wrong is that of the last 30 days`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.run(
                """
                INSERT INTO appstore.reconcile_counts (day, rule, questions, answered, changed)
                VALUES (current_date, 'sample', 50, 40, 1), (current_date - 29, 'sample', 50, 40, 0), (current_date - 31, 'sample', 50, 50, 50),
                       (current_date, 'in_retry', 9, 9, 9)
                """
            )
            let statistics: Statement = """
                SELECT s.wrong_ratio || ' ' || s.questions[array_position(s.rules, 'sample')] || ' ' || s.changed[array_position(s.rules, 'sample')]
                FROM appstore.reconcile_statistics() AS s
                """
            #expect(try await scene.database.lines(statistics) == ["0.0125 150 51"])
        }
    }

    @Test func `questions age after 90 days, and their counts stay`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.contract("2")
            try await scene.step(1)
            try await scene.refuseCalls()
            try await scene.run(
                "UPDATE appstore.reconcile_questions SET asked_at = asked_at - interval '90 days' WHERE original_transaction_id = '1'"
            )
            try await scene.step(2)
            #expect(try await Self.results(scene) == ["2 unanswered"])
            #expect(try await scene.database.lines("SELECT questions::text FROM appstore.reconcile_counts") == ["2"])
        }
    }

    @Test func `an operator asks about a purchase, also of one that only Apple knows`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            func ask(_ arguments: String, as role: String = "appstore_operator") async throws {
                try await scene.database.withConnection(user: role) { connection in
                    try await connection.runScript("SELECT appstore.reconcile_contract(\(arguments))")
                }
            }
            try await ask("'1.1'")
            try await ask("'9', 'com.example.app', 'Sandbox'")
            await #expect(throws: PostgresError.self) { try await ask("'9'") }
            await #expect(throws: PostgresError.self) { try await ask("'../x', 'com.example.app', 'Sandbox'") }
            try await scene.run("SELECT appstore.plan_history('{com.example.app}', '{Production}')")
            await #expect(throws: PostgresError.self) { try await ask("'9', 'com.example.typo', 'Production'") }
            await #expect(throws: PostgresError.self) { try await ask("'1'", as: "appstore_worker") }
            #expect(
                try await scene.database.lines("SELECT call_key || ' ' || priority FROM appstore.outbox ORDER BY call_id") == [
                    "production:1 1", "sandbox:9 1",
                ]
            )
            #expect(
                try await scene.database.lines("SELECT action FROM appstore.audit_log") == ["reconcile_contract", "reconcile_contract"]
            )
        }
    }

    @Test func `what is stale is listed, and what is asked names no user`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1", #""user_id": "anna""#)
            try await scene.contract("2", #""status": 3"#)
            try await scene.step(1)
            let stale: Statement = """
                SELECT concat_ws(' ', original_transaction_id, rule, questions, user_id, next_question_at AT TIME ZONE 'UTC')
                FROM appstore.stale_contracts ORDER BY 1
                """
            // By the clock of today the retries are over.
            #expect(try await scene.database.lines(stale) == ["1 expired_silent 1 anna 2026-01-02 00:00:00"])
            let naming: Statement = """
                SELECT concat(w, q) FROM appstore.reconcile_watches AS w, appstore.reconcile_questions AS q WHERE concat(w, q) LIKE '%anna%'
                """
            #expect(try await scene.database.lines(naming) == [])
        }
    }
}
