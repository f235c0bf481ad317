import InboxTesting
import Postgres
import Testing

/// Client posts and operators' texts about a user who is forgotten.
struct ForgetPostTests {
    private let name = ForgetScene.name

    @Test func `events about a contract that the user only claimed keep their bodies`() async throws {
        try await ForgetScene.with { ledger in
            try await ledger.submit("2000", of: "2000", by: name, onDay: 5)
            try await ledger.run(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (event_id, source, received_at, body)
                    SELECT event_id, 'client_transaction', now(), convert_to('{"user":"' || poster || '"}', 'UTF8')
                    FROM (VALUES (11, 'bob'), (12, \(name)), (13, \(name))) AS b (event_id, poster) RETURNING *
                )
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, environment,
                                               original_transaction_id)
                SELECT event_id, source, received_at, now(), 1, 1, 'no_effect', 'Production', '2000' FROM stored
                """
            )
            _ = try await ForgetScene.forget(in: ledger)
            #expect(
                try await ledger.lines(
                    "SELECT event_id::text FROM appstore.inbox AS i WHERE event_id IN (2, 11, 12, 13) ORDER BY i.event_id"
                )
                    == ["2", "11"]
            )
            #expect(try await ledger.lines("SELECT user_id FROM appstore.contracts WHERE original_transaction_id = '2000'") == ["bob"])
            #expect(try await ForgetScene.tables(in: ledger) == [])
        }
    }

    @Test func `an unknown user changes nothing and leaves no audit log`() async throws {
        try await ForgetScene.with { ledger in
            let question: Statement = """
                SELECT (SELECT count(*) FROM appstore.audit_log) || ' ' || (SELECT count(*) FROM appstore.inbox) || ' '
                    || appstore.state_digest('Production') || appstore.state_digest('Sandbox')
                """
            let before = try await ledger.lines(question)
            let answer = try await ledger.database.withConnection(user: "appstore_operator") {
                try await $0.query("SELECT to_jsonb(f)::text FROM appstore.forget('carol', 'request 8') AS f")[0].decode(0, as: String.self)
            }
            #expect(answer == #"{"alias": null, "posts": 0, "bodies": 0, "orders": 0, "contracts": 0}"#)
            #expect(try await ledger.lines(question) == before)
        }
    }

    @Test func `free text of operators is not changed`() async throws {
        try await ForgetScene.with { ledger in
            try await ledger.run("SELECT appstore.discard_event(6, \("as \(name) asked"))", as: "appstore_operator")
            _ = try await ForgetScene.forget(in: ledger)
            #expect(try await ledger.lines("SELECT reason FROM appstore.outcomes WHERE event_id = 6") == ["as \(name) asked"])
            #expect(try await ForgetScene.tables(in: ledger) == ["audit_log", "outcomes_first"])
        }
    }

    /// An index reads the user from each body when it is stored.
    @Test(arguments: [
        String(repeating: "[", count: 200_000), "{\"user\":\"\(String(repeating: "u", count: 100_000))\"}", "{\"user\":\"\\u0000\"}",
        "\u{7}", "{\"user\":7}", "[]",
    ])
    func `any body of a client can be stored`(body: String) async throws {
        try await TestLedger.with { ledger in
            for source in ["client_transaction", "client_receipt"] {
                try await ledger.run("SELECT appstore.store(\(source), \([Array(body.utf8)]))")
            }
            #expect(try await ledger.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["2"])
        }
    }
}
