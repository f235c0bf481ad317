import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What people wrote of somebody who is forgotten, and what of others is none of his.
struct ForgetWordsTests {
    private let name = ForgetScene.name

    /// The name in each place where a person, or an error, can have put it.
    private func plant(in books: Books) async throws {
        try await books.run("SELECT appstore.discard(6, \("as \(name) asked"))", as: "appstore_operator")
        try await books.run("SELECT appstore.requeue(6, \("for \(name)"))", as: "appstore_operator")
        try await books.run("SELECT appstore.discard(6, \("as \(name) asked again"))", as: "appstore_operator")
        try await books.run(
            "SELECT appstore.requeue(reason => \("as \(name) asked again"), dry_run => false, max_events => 1)",
            as: "appstore_operator"
        )
        try await books.run("SELECT appstore.discard(6, \("\(name), once more"))", as: "appstore_operator")
        try await books.run(
            "SELECT appstore.request_repair('discard', jsonb_build_object('reason', \("mail of \(name)")::text), \("see \(name)"))",
            as: "appstore_operator"
        )
        try await books.run("SELECT appstore.link_owner('Production', '2000', 'bob', \("brother of \(name)"))", as: "appstore_operator")
        try await books.run("UPDATE appstore.inbox_ready SET last_error = \("no user \(name)"), attempts = 1 WHERE event_id = 4")
        try await books.run("UPDATE appstore.outcomes SET last_error = \("no user \(name)") WHERE event_id = 2")
        try await books.run("UPDATE appstore.outcome_history SET last_error = \("no user \(name)") WHERE run = 1")
        try await books.run("UPDATE appstore.repairs SET error = \("no user \(name)")")
    }

    @Test func `the name goes from what was written, and the rest of it stays`() async throws {
        try await ForgetScene.with { books in
            try await plant(in: books)
            let places = try await ForgetScene.tables(in: books)
            #expect(Set(places).isSuperset(of: ["audit_log", "inbox_ready", "outcome_history", "outcomes", "repairs"]))
            let alias = try await ForgetScene.forget(in: books)
            #expect(try await ForgetScene.tables(in: books) == [])
            for (question, words) in [
                ("SELECT reason FROM appstore.outcomes WHERE event_id = 6", "\(alias), once more"),
                ("SELECT last_error FROM appstore.outcomes WHERE event_id = 2", "no user \(alias)"),
                ("SELECT reason FROM appstore.outcome_history WHERE event_id = 6 AND run = 2", "as \(alias) asked"),
                ("SELECT last_error FROM appstore.outcome_history WHERE event_id = 6 AND run = 1", "no user \(alias)"),
                ("SELECT last_error FROM appstore.inbox_ready", "no user \(alias)"),
                ("SELECT note || ', ' || (filter ->> 'reason') FROM appstore.repairs", "see \(alias), mail of \(alias)"),
                ("SELECT error FROM appstore.repairs", "no user \(alias)"),
                ("SELECT note FROM appstore.owner_links WHERE user_id = 'bob' AND note LIKE 'brother%'", "brother of \(alias)"),
                ("SELECT note FROM appstore.audit_log WHERE action = 'link_owner' AND note IS NOT NULL", "brother of \(alias)"),
                ("SELECT note FROM appstore.audit_log WHERE action = 'requeue' AND note IS NOT NULL", "for \(alias)"),
                ("SELECT filter ->> 'reason' FROM appstore.audit_log WHERE action = 'request_discard'", "mail of \(alias)"),
            ] {
                #expect(try await books.lines("\(unsafeRaw: question)") == [words], "\(question)")
            }
            #expect(try await books.database.eventsNotExactlyOnce() == [])
        }
    }

    /// A name that is short, or that means something in a pattern.
    @Test(arguments: ["7", "a.ice+1@x.org", "***=.*", "(?i)[a-z]\\1", "Ünal", "forgotten"])
    func `only a word of its own is the name`(user: String) async throws {
        try await Books.with { books in
            let note = "17\(user)8 events, x\(user)y, for \(user): \(user)"
            try await books.run(
                "INSERT INTO appstore.audit_log (at, actor, action, event_ids, note) VALUES (now(), 'o', 'requeue', '{}', \(note))"
            )
            let alias = try await ForgetScene.forget(user, note: "as asked", in: books)
            #expect(
                try await books.lines("SELECT note FROM appstore.audit_log WHERE action = 'requeue'") == [
                    "17\(user)8 events, x\(user)y, for \(alias): \(alias)"
                ]
            )
        }
    }

    @Test func `what others have to do with a contract that the user only claimed stays`() async throws {
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
            #expect(try await books.lines("SELECT user_id FROM appstore.member_contracts WHERE contract_id = '2000'") == ["bob"])
            #expect(try await ForgetScene.tables(in: books) == [])
        }
    }

    /// Who posted it is asked of each body as it comes in.
    @Test(arguments: [
        String(repeating: "[", count: 200_000), "{\"user\":\"\(String(repeating: "u", count: 100_000))\"}", "{\"user\":\"\\u0000\"}",
        "\u{7}",
        "{\"user\":7}", "[]",
    ])
    func `any body that a client posts is taken in`(body: String) async throws {
        try await Books.with { books in
            try await books.run("SELECT appstore.submit_transaction(\(Array(body.utf8)))", as: "appstore_api")
            #expect(try await books.lines("SELECT count(*)::text FROM appstore.inbox_ready") == ["1"])
        }
    }
}
