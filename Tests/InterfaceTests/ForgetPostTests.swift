import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What clients posted, and what operators wrote, of a user who is forgotten.
struct ForgetPostTests {
    private let name = ForgetScene.name

    @Test func `events of others about a contract that the user only claimed stay`() async throws {
        try await ForgetScene.with { books in
            try await books.submit("2000", of: "2000", by: name, onDay: 5)
            try await books.run(
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
            _ = try await ForgetScene.forget(in: books)
            #expect(
                try await books.lines(
                    "SELECT event_id::text FROM appstore.inbox AS i WHERE event_id IN (2, 11, 12, 13) ORDER BY i.event_id"
                )
                    == ["2", "11"]
            )
            #expect(try await books.lines("SELECT user_id FROM appstore.contracts WHERE original_transaction_id = '2000'") == ["bob"])
            #expect(try await ForgetScene.tables(in: books) == [])
        }
    }

    @Test func `nothing is changed or written to the audit log for a user who is unknown`() async throws {
        try await ForgetScene.with { books in
            let question: Statement = """
                SELECT (SELECT count(*) FROM appstore.audit_log) || ' ' || (SELECT count(*) FROM appstore.inbox) || ' '
                    || appstore.state_digest('Production') || appstore.state_digest('Sandbox')
                """
            let before = try await books.lines(question)
            let answer = try await books.database.withConnection(user: "appstore_operator") {
                try await $0.query("SELECT to_jsonb(f)::text FROM appstore.forget('carol', 'request 8') AS f")[0].decode(0, as: String.self)
            }
            #expect(answer == #"{"alias": null, "posts": 0, "bodies": 0, "orders": 0, "contracts": 0}"#)
            #expect(try await books.lines(question) == before)
        }
    }

    @Test func `free text of operators stays as it is`() async throws {
        try await ForgetScene.with { books in
            try await books.run("SELECT appstore.discard_event(6, \("as \(name) asked"))", as: "appstore_operator")
            _ = try await ForgetScene.forget(in: books)
            #expect(try await books.lines("SELECT reason FROM appstore.outcomes WHERE event_id = 6") == ["as \(name) asked"])
            #expect(try await ForgetScene.tables(in: books) == ["audit_log", "outcomes_first"])
        }
    }

    /// An index asks each body for its user when it is stored.
    @Test(arguments: [
        String(repeating: "[", count: 200_000), "{\"user\":\"\(String(repeating: "u", count: 100_000))\"}", "{\"user\":\"\\u0000\"}",
        "\u{7}", "{\"user\":7}", "[]",
    ])
    func `any body of a client can be stored`(body: String) async throws {
        try await Books.with { books in
            for source in ["client_transaction", "client_receipt"] {
                try await books.run("SELECT appstore.store(\(source), \([Array(body.utf8)]))")
            }
            #expect(try await books.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["2"])
        }
    }
}
