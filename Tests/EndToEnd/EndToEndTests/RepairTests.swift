import EndToEndTesting
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
    /// Repairs by SQL.
    @Suite struct RepairTests {
        @Test func `a rejected event is applied when it is requeued after the configuration was fixed`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.shortLife())
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                let worker = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_APPS": "com.example.typo"])
                _ = try await ingest.client.post(bodies)
                let rejected = try await sql.settled(bodies.count)
                #expect(rejected.allSatisfy { $0.outcome == "rejected" && $0.reason == "wrong_bundle" })
                #expect(try await worker.terminate() == .exit(0))

                let first = rejected[0].eventID
                try await installation.asOperator { connection in
                    let one = try await connection.query("SELECT appstore.requeue_event(\(first), 'bundle was mistyped')")
                    #expect(try one[0].decode(0) == 1)
                    try await sql.expectEachEventAccountedFor()
                    let rest = try await connection.query(
                        "SELECT events FROM appstore.requeue(result => 'rejected', reason => 'wrong_bundle')"
                    )
                    #expect(try rest[0].decode(0) == bodies.count - 1)
                }

                _ = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_CONCURRENCY": "1"])
                try await sql.awaitRun(2, of: bodies.count)
                try await sql.expectEachEventAccountedFor()
                let events = try await sql.settled(bodies.count)
                #expect(events.map(\.outcome) == bodies.map { _ in "applied" })
                #expect(events.allSatisfy { $0.attempts == 1 }, "attempts are counted for each run")
                let history = try await sql.values(
                    """
                    SELECT DISTINCT concat_ws(' ', h.run, h.result, h.reason, h.replaced_by, 'then', o.run)
                    FROM appstore.outcome_history AS h JOIN appstore.outcomes AS o USING (event_id)
                    """
                )
                #expect(history == ["1 rejected wrong_bundle appstore_operator then 2"])
                let audit = try await sql.values(
                    "SELECT concat_ws(' ', actor, action, cardinality(event_ids), note) FROM appstore.audit_log ORDER BY audit_id"
                )
                #expect(audit == ["appstore_operator requeue 1 bundle was mistyped", "appstore_operator requeue \(bodies.count - 1)"])
            }
        }

        @Test func `requeueing an applied event does not change the ledger`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.shortLife())
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_CONCURRENCY": "1"])
                _ = try await ingest.client.post(bodies)
                try await sql.settled(bodies.count)
                let before = try await sql.digest()
                try await installation.asOperator { connection in
                    let requeued = try await connection.query("SELECT events FROM appstore.requeue(result => 'applied')")
                    #expect(try requeued[0].decode(0) == bodies.count)
                }
                try await sql.awaitRun(2, of: bodies.count)
                #expect(try await sql.outcomes() == bodies.map { _ in "applied" })
                let after = try await sql.digest()
                #expect(difference(before, after) == [])
            }
        }

        @Test func `a discarded event stays discarded and keeps its history`() async throws {
            var shop = try Shop()
            let body = try shop.body(shop.purchases(1)[0])
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                let worker = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_APPS": "com.example.other"])
                _ = try await ingest.client.post(body)
                let event = try await sql.settled(1)[0].eventID
                try await installation.asOperator { connection in
                    _ = try await connection.query("SELECT appstore.discard_event(\(event), 'not ours')")
                }
                let discarded = try await sql.events()[0]
                #expect((discarded.outcome, discarded.reason) == ("discarded", "not ours"))
                #expect(try await sql.values("SELECT result FROM appstore.outcome_history") == ["rejected"])
                #expect(try await sql.values("SELECT actor || ' ' || action FROM appstore.audit_log") == ["appstore_operator discard"])
                #expect(try await worker.terminate() == .exit(0))
            }
        }
    }
}

extension Installation {
    /// Lends a connection of the operator's role.
    func asOperator(_ body: (Connection) async throws -> Void) async throws {
        let connection = try await Connection.open(ConnectionOptions(database.url(user: "appstore_operator")), logger: .silent)
        try await body(connection)
        await connection.close()
    }
}

extension SQLAccess {
    /// Waits until that many events are settled in their nth run.
    func awaitRun(_ run: Int32, of count: Int) async throws {
        try await eventually("\(count) events have had run \(run)") {
            try await value(Int.self, "SELECT count(*) FROM appstore.outcomes WHERE run = \(run)") == count
        }
    }
}
