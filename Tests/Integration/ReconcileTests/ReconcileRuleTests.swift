import InboxTesting
import Postgres
import Testing

/// Each rule asks by its schedule. Steps pass the time to the database; the contracts' period ends at hour 0.
struct ReconcileRuleTests {
    @Test func `a contract that was to renew and is silent is asked about after an hour, a day, three, seven and thirty days`() async throws
    {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.contract("2", #""will_renew": false"#)
            try await scene.contract("3", #""status": 2"#)
            try await scene.contract("4", #""access_until": "2027-01-01T00:00:00Z""#)
            #expect(
                try await scene.askedHours([0.9, 1, 2, 24.5, 25, 71, 72, 100, 168, 200, 720, 721, 2000]) == [1, 25, 72, 168, 720]
            )
            let asked: Statement = "SELECT DISTINCT rule || ' ' || original_transaction_id FROM appstore.reconcile_questions"
            #expect(try await scene.database.lines(asked) == ["expired_silent 1"])
            #expect(try await scene.database.lines("SELECT rule FROM appstore.reconcile_watches") == [])
        }
    }

    @Test func `the call is one for the subscription's statuses, with a day of time`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.step(1)
            let call: Statement = """
                SELECT concat_ws(' ', kind, call_key, bundle_id, environment, priority, convert_from(payload, 'UTF8'), deadline_at - asked_at)
                FROM appstore.outbox
                """
            #expect(
                try await scene.database.lines(call) == [
                    #"subscription_statuses production:1 com.example.app Production 2 {"path": ["1"]} 1 day"#
                ]
            )
        }
    }

    @Test func `a contract that renews meanwhile, or that a notification ends, is asked about no more`() async throws {
        try await ReconcileScene.with { scene in
            for id in ["1", "2"] { try await scene.contract(id) }
            #expect(try await scene.step(1) == ["expired_silent 1", "expired_silent 2"])
            try await scene.refuseCalls()
            try await scene.run(
                """
                UPDATE appstore.contracts SET status = 2 WHERE original_transaction_id = '1';
                UPDATE appstore.contracts SET current_period_end = '2026-02-01', access_until = '2026-02-01' WHERE original_transaction_id = '2'
                """
            )
            #expect(try await scene.step(25) == [])
            #expect(try await scene.database.lines("SELECT rule FROM appstore.reconcile_watches") == [])
        }
    }

    @Test func `a contract of which only a purchase is known is asked about once, fifteen minutes after it came`() async throws {
        try await ReconcileScene.with { scene in
            let bare = #""status": null, "will_renew": null, "renewal_signed_date": null, "renewal_hash": null"#
            try await scene.contract("1", bare)
            try await scene.contract("2")
            try await scene.run(
                """
                SELECT public.event(1, '1', 'client_transaction', '2025-12-31T12:00:00Z');
                SELECT public.event(2, '2', 'client_transaction', '2025-12-31T12:00:00Z')
                """
            )
            #expect(try await scene.step(-11.8) == [])
            #expect(try await scene.step(-11.75) == ["no_renewal_info 1"])
            try await scene.answerCalls()
            try await scene.run("SELECT public.event(3, '1', 'client_transaction', '2026-01-03T00:00:00Z')")
            #expect(try await scene.step(60) == ["expired_silent 2"])
        }
    }

    @Test func `a purchase after a lapse is asked about where only the lapse is known`() async throws {
        try await ReconcileScene.with { scene in
            // Known before the purchase, and from a replica that lags.
            for (id, signed) in [("1", "2025-11-01"), ("2", "2025-12-02")] {
                let lapse = #""status": null, "will_renew": false, "renewal_status": 2, "renewal_date": "2025-10-31T00:00:00Z""#
                try await scene.contract(id, lapse + #", "renewal_signed_date": "\#(signed)T00:00:00Z""#)
                try await scene.run("SELECT public.event(\(id), '\(id)', 'client_transaction', '2025-12-01T12:00:00Z')")
            }
            #expect(try await scene.step(-700) == ["no_renewal_info 1", "no_renewal_info 2"])
            try await scene.answerCalls()
            #expect(try await scene.step(-600) == [])
        }
    }

    @Test func `a call that could not be made for a day is made up for before the next one of the schedule`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            #expect(try await scene.askedHours([1, 25, 72]) == [1, 25, 72])
            #expect(try await scene.step(168) == ["expired_silent 1"])
            try await scene.run(
                "UPDATE appstore.outbox SET state = 'given_up', reason = 'by_test', settled_at = run_at WHERE state = 'open'"
            )
            #expect(try await scene.askedHours([190, 193, 300, 719, 720]) == [193, 720])
        }
    }

    @Test func `a purchase of a receipt about several contracts is found by its contracts`() async throws {
        try await ReconcileScene.with { scene in
            let bare = #""status": null, "will_renew": null, "renewal_signed_date": null, "renewal_hash": null"#
            for id in ["1", "2"] { try await scene.contract(id, bare) }
            try await scene.run(
                """
                SELECT public.event(1, NULL, 'client_receipt', '2025-12-31T12:00:00Z');
                INSERT INTO appstore.event_contracts VALUES ('Production', '1', 1), ('Production', '2', 1)
                """
            )
            #expect(try await scene.step(-11) == ["no_renewal_info 1", "no_renewal_info 2"])
        }
    }

    @Test func `a contract in billing retry is asked about each day until day 60`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1", #""status": 3"#)
            let asked = try await scene.askedHours(stride(from: 6.0, through: 62 * 24, by: 6))
            #expect(asked == (1...60).map { Double($0 * 24) })
        }
    }

    @Test func `a contract in its grace period is asked about an hour after the end, and never twice in twelve hours`() async throws {
        try await ReconcileScene.with { scene in
            // Apple's grace periods are whole days.
            try await scene.contract("1", #""status": 4, "grace_period_expires_date": "2026-01-04T00:00:00Z""#)
            let asked = try await scene.askedHours(stride(from: 1.0, through: 140, by: 1))
            #expect(asked == [24, 48, 73, 96, 120])
        }
    }

    @Test func `a refund without a decision is doubted after two days and a week, and the customer's history is asked for`() async throws {
        try await ReconcileScene.with { scene in
            for id in ["1", "2"] { try await scene.contract(id, #""will_renew": false"#) }
            try await scene.run(
                """
                INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at, outcome, outcome_at)
                SELECT 'Production', id || '.1', id, '2026-01-01T00:00:00Z', '2026-01-01T12:00:00Z', decided, decided_at
                FROM (VALUES ('1', NULL, NULL), ('2', 'declined', '2026-01-02'::timestamptz)) AS c (id, decided, decided_at)
                """
            )
            #expect(try await scene.askedHours([47, 48, 72, 96, 167, 168, 200, 400]) == [48, 168])
            let calls: Statement = "SELECT DISTINCT kind || ' ' || call_key || convert_from(payload, 'UTF8') FROM appstore.outbox"
            #expect(try await scene.database.lines(calls) == [#"transaction_history production:1{"path": ["1"]}"#])
        }
    }

    @Test func `a request about a refund that is recovered late is doubted a week after Apple asked`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1", #""will_renew": false"#)
            #expect(try await scene.askedHours([48, 60]) == [])
            try await scene.askAboutRefund(of: "1.1", contract: "1", at: 0)
            #expect(try await scene.askedHours([61, 100, 168, 200]) == [168])
        }
    }

    @Test func `two charges of a contract whose refund is in doubt are watched one after the other`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1", #""will_renew": false"#)
            try await scene.renew("1", from: "2026-01-01", to: "2026-02-01")
            try await scene.askAboutRefund(of: "1.1", contract: "1", at: 0)
            try await scene.askAboutRefund(of: "1.2", contract: "1", at: 1)
            #expect(try await scene.step(48) == ["revoked_doubt 1"])
            // Nothing answers, and the first is decided.
            try await scene.refuseCalls()
            try await scene.step(49)
            try await scene.run(
                "UPDATE appstore.consumption_obligations SET outcome = 'declined', outcome_at = '2026-01-03T02:00:00Z' WHERE transaction_id = '1.1'"
            )
            #expect(try await scene.step(73) == ["revoked_doubt 1"])
            let asked: Statement = "SELECT transaction_id FROM appstore.reconcile_questions ORDER BY question_id"
            #expect(try await scene.database.lines(asked) == ["1.1", "1.2"])
        }
    }

    @Test(arguments: [
        #""status": null, "will_renew": null, "renewal_signed_date": null, "renewal_hash": null"#, #""will_renew": false"#,
        #""status": 2, "price_increase_status": 0, "current_period_end": "2026-01-05T12:00:00Z", "access_until": "2026-01-05T12:00:00Z""#,
    ])
    func `a question that nothing answers is asked again a day later, seven times at most`(members: String) async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1", members)
            try await scene.run("SELECT public.event(1, '1', 'client_transaction', '2026-01-03T23:00:00Z')")
            if members.contains("false") { try await scene.askAboutRefund(of: "1.1", contract: "1", at: 24) }
            let hours = [72.0, 73, 95, 96, 120, 144, 168, 192, 216, 240, 264]
            let asked = try await scene.askedHours(hours, isAnswered: false)
            // The price matters until the renewal.
            #expect(asked == (members.contains("price") ? [72, 96] : [72, 96, 120, 144, 168, 192, 216]))
            #expect(try await scene.database.lines("SELECT rule FROM appstore.reconcile_watches") == [])
        }
    }

    @Test func `each silent end of a short period is asked about by its schedule`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            #expect(try await scene.askedHours([1, 25, 72, 168, 190]) == [1, 25, 72, 168])
            try await scene.renew("1", from: "2026-01-09", to: "2026-01-16")
            // It ends at hour 360; the watch of the period before it ends at hour 720.
            #expect(try await scene.askedHours([200, 360, 361, 385, 432, 528, 720, 1080, 1200]) == [361, 385, 432, 528, 1080])
        }
    }

    @Test func `a missing consent to a higher price is asked about three days, two and one before the renewal`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1", #""price_increase_status": 0"#)
            try await scene.contract("2", #""price_increase_status": 1"#)
            #expect(try await scene.askedHours([-100, -73, -72, -60]) == [-72])
            // A price increase that came late.
            try await scene.contract("3", #""price_increase_status": 0"#)
            #expect(try await scene.step(-48) == ["price_consent 1", "price_consent 3"])
            try await scene.answerCalls()
            #expect(try await scene.askedHours([-25, -24, 0]) == [-24])
            try await scene.run("DELETE FROM appstore.reconcile_questions WHERE original_transaction_id = '3'")
            #expect(try await scene.database.lines("SELECT DISTINCT original_transaction_id FROM appstore.reconcile_questions") == ["1"])
        }
    }

    @Test func `a day's sample is spread over the day, of active contracts, each once`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.run(
                """
                SELECT public.contract('a' || n, '{"current_period_end": "2027-01-01T00:00:00Z", "access_until": "2027-01-01T00:00:00Z"}'),
                       public.contract('b' || n, '{"will_renew": false}')
                FROM generate_series(1, 60) AS n
                """
            )
            let asked = try await scene.askedHours(stride(from: 100.0, through: 124, by: 0.5), sample: 12)
            #expect(asked == (1...12).map { 100 + Double($0 * 2) })
            let sampled = try await scene.database.lines(
                "SELECT original_transaction_id FROM appstore.reconcile_questions WHERE rule = 'sample'"
            )
            #expect(sampled.count == 12 && Set(sampled).count == 12 && sampled.allSatisfy { $0.hasPrefix("a") })
            #expect(try await scene.step(300, sample: 0).isEmpty)
        }
    }

    @Test func `a fact that came late is found by a later walk`() async throws {
        try await ReconcileScene.with { scene in
            #expect(try await scene.askedHours([1, 30]) == [])
            try await scene.contract("1", #""status": 3"#)
            #expect(try await scene.askedHours([71, 72, 73, 96]) == [72, 96])
        }
    }

    @Test func `what ended before the first step, up to 60 days ago, is found by it`() async throws {
        try await ReconcileScene.with { scene in
            try await scene.contract("1")
            try await scene.contract("2", #""status": 3"#)
            #expect(try await scene.step(40 * 24) == ["expired_silent 1", "in_retry 2"])
        }
    }
}
