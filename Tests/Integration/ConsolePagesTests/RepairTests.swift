import Console
import HTTPServingTesting
import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What a confirmation binds a repair to, and how it ends.
struct RepairTests {
    private static let many = """
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, environment)
        SELECT 2000 + n, 'notification_v2', now() - interval '1 hour', now() - interval '1 hour', 1, 1, 'failed', 'merge_failed', 'Production'
        FROM generate_series(1, 10050) AS n;
        """

    private func discarded(_ scene: ConsoleScene) async throws -> String? {
        try await scene.value("SELECT count(*)::text FROM appstore.outcomes WHERE result = 'discarded'")
    }

    @Test func `a repair of more events than are counted needs a word, and ends at the limit of the person`() async throws {
        try await ConsoleScene.run(Self.many) { scene in
            let fields = [("do", "discard-all"), ("note", "junk"), ("q", "outcome:failed")]
            let question = try await scene.post("/events/repair", fields)
            #expect(question.text.contains("Type the word discard") && question.text.contains("10,000+ events"))
            for wrong in [[("seen", "10001")], [("word", "all"), ("limit", "9")], [("word", "discard"), ("limit", "0")]] {
                let answer = try await scene.post("/events/repair", fields + [("confirmed", "yes")] + wrong)
                #expect(answer.status == 200 && answer.body.components("name=\"limit\"") == 1, "\(wrong)")
            }
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.repair_status") == "0")
            let confirmed = fields + [("confirmed", "yes"), ("word", "discard"), ("limit", "2000")]
            #expect(try await scene.post("/events/repair", confirmed).status == 303)
            while try await scene.runner.step() != nil {}
            #expect(try await discarded(scene) == "2000")
            let repair = try await scene.value("SELECT concat_ws(' ', state, repaired, expected) FROM appstore.repair_status")
            #expect(repair == "done 2000 2000")
        }
    }

    @Test func `the chosen environment limits events and repairs, and the confirmation names it`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            try await scene.database.run("UPDATE appstore.outcomes SET environment = 'Sandbox' WHERE event_id IN (10, 20)")
            try await scene.database.run("UPDATE appstore.outcomes SET environment = NULL WHERE event_id = 30")
            for (target, found) in [
                ("/events?environment=Sandbox", 2), ("/events?q=outcome%3Afailed", 7), ("/events?q=outcome%3Afailed+env%3Aany", 10),
                ("/events?q=outcome%3Afailed+env%3ASandbox", 2),
            ] {
                #expect(try await scene.get(target).table("Events, the latest first")?.count == found, "\(target)")
            }
            let fields = [("do", "discard-all"), ("note", "junk"), ("q", "outcome:failed")]
            let question = try await scene.post("/events/repair?environment=Sandbox", fields)
            #expect(question.text.contains("Discard 2 events?") && question.text.contains("in Sandbox"))
            let everywhere = try await scene.post("/events/repair", Array(fields[..<2]) + [("q", "outcome:failed env:any")])
            #expect(everywhere.text.contains("Discard 10 events?") && everywhere.text.contains("in all environments and of none"))
            let confirmed = fields + [("confirmed", "yes"), ("seen", "2")]
            #expect(try await scene.post("/events/repair?environment=Sandbox", confirmed).status == 303)
            while try await scene.runner.step() != nil {}
            let events = try await scene.database.lines(
                "SELECT event_id::text FROM appstore.outcomes WHERE result = 'discarded' ORDER BY event_id"
            )
            #expect(events == ["10", "20"])
        }
    }

    @Test func `a repair is stopped while a step is in flight, which is the last one`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let fields = [("do", "discard-all"), ("note", "junk"), ("q", "outcome:failed"), ("confirmed", "yes"), ("seen", "10")]
            #expect(try await scene.post("/events/repair", fields).status == 303)
            let holder = try await Connection.open(ConnectionOptions(scene.database.url(user: "postgres")), logger: .silent)
            try await holder.runScript("BEGIN; SELECT FROM appstore.outcomes WHERE event_id = 10 FOR UPDATE")
            async let step: Void = scene.database.withConnection { try await $0.runScript("SELECT FROM appstore.take_repair_step()") }
            let waiting: Statement = """
                SELECT count(*)::text FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE NOT l.granted AND a.datname = current_database()
                """

            var checks = 0
            while try await scene.value(waiting) == "0", checks < 10_000 { checks += 1 }
            // Another process takes no step of it meanwhile.
            #expect(try await scene.runner.step() == .seconds(0.1))
            #expect(try await scene.post("/repairs/1/stop", []).status == 303)
            try await holder.runScript("COMMIT")
            try await step
            await holder.close()
            #expect(try await scene.runner.step() == nil)
            #expect(try await scene.value("SELECT concat_ws(' ', state, repaired) FROM appstore.repair_status") == "stopped 10")
            #expect(try await scene.value("SELECT count(*)::text FROM appstore.audit_log WHERE action = 'discard'") == "1")
        }
    }

    @Test func `what another transaction holds is no outage`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            let holder = try await Connection.open(ConnectionOptions(scene.database.url(user: "postgres")), logger: .silent)
            try await holder.runScript("BEGIN; LOCK TABLE appstore.repairs IN EXCLUSIVE MODE")
            let fields = [("do", "discard-all"), ("note", "junk"), ("q", "outcome:failed"), ("confirmed", "yes"), ("seen", "10")]
            let answer = try await scene.post("/events/repair", fields)
            #expect(answer.status == 409 && answer.text.contains("Try again in some seconds"))
            await holder.close()
        }
    }

    @Test func `a constraint that is violated is not what a person is told`() async throws {
        try await ConsoleScene.run(Story.events) { scene in
            try await scene.database.run("ALTER TABLE appstore.repairs ADD CONSTRAINT once UNIQUE (note)")
            for (type, status) in [("REFUND", 303), ("DID_RENEW", 500)] {
                let fields = [("do", "requeue-all"), ("note", "again"), ("q", "type:\(type)"), ("confirmed", "yes")]
                let answer = try await scene.post("/events/repair", fields + [("seen", type == "REFUND" ? "14" : "86")])
                #expect(answer.status == status && !answer.text.contains("once"), "\(answer.text)")
            }
        }
    }
}

extension String {
    /// How often it contains a text.
    fileprivate func components(_ text: String) -> Int { ranges(of: text).count }
}
