import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Erasure requests: the name goes, what was sold stays.
struct ForgetTests {
    private let order = UUID()
    private let name = "alice@example.com"

    /// Alice ordered and renewed, Bob holds another contract, and each notification is in the inbox. One post of Alice's waits.
    private func withBooks(_ body: (Books) async throws -> Void) async throws {
        try await Books.with { books in
            try await books.makeOrder(order, user: name)
            try await books.put(
                Charge("1000", onDay: 0, token: order),
                Charge("1001", onDay: 30),
                Charge("2000", onDay: 0).with { $0.contract = "2000" },
                Charge("1002", onDay: 0, token: order).with {
                    $0.environment = "Sandbox"; $0.contract = "1002"
                }
            )
            try await books.submit("1001", by: name, onDay: 30)
            try await books.link("2000", to: "bob", onDay: 1)
            try await books.link("1000", to: name, onDay: 31)
            try await books.run("SELECT appstore.link_owner('Production', '1000', \(name), 'she wrote to us')", as: "appstore_operator")
            try await books.run(
                """
                INSERT INTO appstore.effects (environment, kind, effect_key, event_id, occurred_at, original_transaction_id, user_id)
                VALUES ('Production', 'granted', '1000/51000', 1, now(), '1000', \(name)), ('Production', 'granted', '2000/52000', 2, now(), '2000', 'bob')
                """
            )
            try await books.run(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (source, received_at, body)
                    SELECT source, now(), convert_to(body, 'UTF8')
                    FROM (VALUES ('notification_v2', 'about 1000'), ('notification_v2', 'about 2000'),
                                 ('client_transaction', '{"user":"alice@example.com"}'), ('client_transaction', '{"user":"bob"}'),
                                 ('client_transaction', '{"user":"alice@example.com"}'), ('client_transaction', 'no JSON')) AS b (source, body)
                    RETURNING *
                ), waiting AS (
                    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes) SELECT event_id, now(), 1 FROM stored WHERE event_id IN (4, 5)
                )
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, environment,
                                               original_transaction_id)
                SELECT event_id, source, received_at, now(), 1, 1, CASE WHEN event_id < 3 THEN 'applied' ELSE 'rejected' END, 'x',
                       CASE WHEN event_id < 3 THEN 'Production' END,
                       CASE event_id WHEN 1 THEN '1000' WHEN 2 THEN '2000' END
                FROM stored WHERE event_id NOT IN (4, 5)
                """
            )
            try await body(books)
        }
    }

    private func forget(_ user: String, in books: Books) async throws -> String {
        let rows = try await books.database.withConnection(user: "appstore_operator") { connection in
            try await connection.query("SELECT appstore.forget(\(user), 'request 7 of the DPO')")
        }
        return try rows.first?.decode(0, as: String.self) ?? ""
    }

    /// The tables in which a word stands anywhere.
    private func tables(with word: String, in books: Books) async throws -> [String] {
        try await books.lines(
            """
            SELECT c.relname::text FROM pg_class AS c
            WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r'
              AND (xpath('/row/n/text()', query_to_xml(format(
                    'SELECT count(*) AS n FROM appstore.%I AS t WHERE t::text LIKE %L OR t::text LIKE %L', c.relname,
                    '%' || \(word) || '%', '%' || encode(convert_to(\(word), 'UTF8'), 'hex') || '%'), false, true, '')))[1]::text <> '0'
            ORDER BY 1
            """
        )
    }

    private func amounts(_ books: Books) async throws -> [String] {
        try await books.lines(
            """
            SELECT concat_ws('|', environment, no, status, trade_no, origin_no, price, currency, paid_at) FROM appstore.orders ORDER BY 1
            """
        )
    }

    @Test func `the name is nowhere any more, in both environments, and amounts stay`() async throws {
        try await withBooks { books in
            let before = try await amounts(books)
            let places = try await tables(with: name, in: books)
            #expect(places == ["claims", "effects", "inbox_first", "member_contracts", "orders", "owner_links", "submissions"])
            let alias = try await forget(name, in: books)
            #expect(alias.hasPrefix("forgotten:"))
            #expect(try await tables(with: name, in: books) == [])
            #expect(try await amounts(books) == before)
            #expect(try await books.lines("SELECT count(*)::text FROM appstore.orders WHERE user_id = 'bob'") == ["1"])
            #expect(
                try await books.lines("SELECT DISTINCT environment::text FROM appstore.orders WHERE user_id = \(alias) ORDER BY 1") == [
                    "Production", "Sandbox",
                ]
            )
            #expect(
                try await books.lines("SELECT string_agg(convert_from(body, 'UTF8'), ', ' ORDER BY event_id) FROM appstore.inbox") == [
                    "about 2000, {\"user\":\"bob\"}, no JSON"
                ]
            )
            #expect(
                try await books.lines("SELECT result || '|' || reason FROM appstore.outcomes WHERE event_id = 5") == ["discarded|forgotten"]
            )
            #expect(
                try await books.lines(
                    "SELECT concat_ws('|', actor, event_ids, note, filter ->> 'alias') FROM appstore.audit_log WHERE action = 'forget'"
                )
                    == ["appstore_operator|{1,3,5}|request 7 of the DPO|\(alias)"]
            )
            #expect(try await books.lines("SELECT coalesce(note, '') FROM appstore.audit_log WHERE action = 'link_owner'") == [""])
            #expect(try await books.database.eventsNotExactlyOnce() == [])
        }
    }

    @Test func `later notifications neither bring the name back nor fail, and the contract goes on`() async throws {
        try await withBooks { books in
            let alias = try await forget(name, in: books)
            try await books.put(
                Charge("1003", onDay: 60),
                Charge("1000", onDay: 0, token: order).with {
                    $0.signedDay = 61; $0.revocationDay = 61
                },
                Charge("1004", onDay: 90).with {
                    $0.environment = "Sandbox"; $0.contract = "1002"
                }
            )
            #expect(try await tables(with: name, in: books) == [])
            #expect(
                try await books.lines(
                    "SELECT concat_ws('|', user_id, current_transaction_id) FROM appstore.member_contracts WHERE contract_id = '1000'"
                )
                    == ["\(alias)|1003"]
            )
            #expect(
                try await books.lines("SELECT status FROM appstore.orders WHERE no = \(order) AND environment = 'Production'") == [
                    "refunded"
                ]
            )
            // Somebody else can still take the contract over.
            try await books.run("SELECT appstore.link_owner('Production', '1000', 'carol')", as: "appstore_operator")
            #expect(try await books.lines("SELECT user_id FROM appstore.member_contracts WHERE contract_id = '1000'") == ["carol"])
            await #expect(throws: PostgresError.self) { try await books.makeOrder(order, user: name) }
            #expect(try await tables(with: name, in: books) == [])
        }
    }

    @Test func `the books that are derived anew are the books that were renamed`() async throws {
        try await withBooks { books in
            _ = try await forget(name, in: books)
            let renamed = try await books.lines("SELECT appstore.state_digest('Production') || appstore.state_digest('Sandbox')")
            for environment in ["Production", "Sandbox"] {
                try await books.run(
                    """
                    SELECT appstore.derive_books(\(environment), ARRAY(SELECT transaction_id FROM appstore.transactions WHERE environment = \(environment)),
                                                 ARRAY(SELECT contract_id FROM appstore.member_contracts WHERE environment = \(environment)))
                    """
                )
            }
            #expect(try await books.lines("SELECT appstore.state_digest('Production') || appstore.state_digest('Sandbox')") == renamed)
        }
    }

    @Test func `to forget again changes nothing, by either name`() async throws {
        try await withBooks { books in
            let alias = try await forget(name, in: books)
            let digest = try await books.lines("SELECT appstore.state_digest('Production')")
            #expect(try await forget(alias, in: books) == alias)
            #expect(try await forget(name, in: books) != alias)
            #expect(try await books.lines("SELECT appstore.state_digest('Production')") == digest)
            #expect(try await books.lines("SELECT count(*)::text FROM appstore.inbox") == ["3"])
        }
    }

    @Test func `the note must not name the user, and only an operator may forget`() async throws {
        try await withBooks { books in
            await #expect(throws: PostgresError.self) {
                try await books.run("SELECT appstore.forget(\(name), \("erasure for " + name))", as: "appstore_operator")
            }
            for role in ["appstore_worker", "appstore_backend", "appstore_api", "appstore_viewer", "appstore_ingest"] {
                await #expect(throws: PostgresError.self) { try await books.run("SELECT appstore.forget(\(name))", as: role) }
            }
        }
    }

    @Test func `a batch that has a post of the user's in its hands is waited for`() async throws {
        try await withBooks { books in
            try await books.database.withConnection { worker in
                try await worker.runScript("BEGIN; SELECT FROM appstore.inbox_ready WHERE event_id = 5 FOR UPDATE;")
                async let alias = forget(name, in: books)
                // Until it waits for the lock.
                let deadline = ContinuousClock.now + .seconds(20)
                while try await books.lines("SELECT count(*)::text FROM pg_locks WHERE NOT granted") == ["0"] {
                    try #require(ContinuousClock.now < deadline)
                }
                try await worker.runScript(
                    """
                    INSERT INTO appstore.submissions (environment, transaction_id, user_id, original_transaction_id, received_at, event_id)
                    VALUES ('Production', '2000', '\(name)', '2000', now(), 5);
                    DELETE FROM appstore.inbox_ready WHERE event_id = 5;
                    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, environment,
                                                   original_transaction_id)
                    VALUES (5, 'client_transaction', now(), now(), 1, 1, 'applied', 'Production', '2000');
                    COMMIT;
                    """
                )
                let forgotten = try await alias
                #expect(try await books.lines("SELECT user_id FROM appstore.submissions WHERE event_id = 5") == [forgotten])
            }
            #expect(try await tables(with: name, in: books) == [])
            #expect(try await books.database.eventsNotExactlyOnce() == [])
        }
    }
}
