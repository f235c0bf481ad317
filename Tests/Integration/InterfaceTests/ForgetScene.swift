import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// A ledger with a user to be forgotten.
enum ForgetScene {
    static let order = UUID()
    static let name = "alice@example.com"

    /// Alice ordered and renewed, Bob holds another contract, and each notification is in the inbox. One post of Alice's waits.
    static func with(in cluster: TestCluster = .shared, _ body: (TestLedger) async throws -> Void) async throws {
        try await TestLedger.with(in: cluster) { ledger in
            try await ledger.makeOrder(order, user: name)
            try await ledger.put(
                Charge("1000", onDay: 0, token: order),
                Charge("1001", onDay: 30),
                Charge("2000", onDay: 0).with { $0.contract = "2000" },
                Charge("1002", onDay: 0, token: order).with {
                    $0.environment = "Sandbox"; $0.contract = "1002"
                }
            )
            try await ledger.submit("1001", by: name, onDay: 30)
            try await ledger.link("2000", to: "bob", onDay: 1)
            try await ledger.link("1000", to: name, onDay: 31)
            try await ledger.run("SELECT appstore.link_owner('Production', '1000', \(name), 'she wrote to us')", as: "appstore_operator")
            try await ledger.run(
                """
                INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, user_id)
                VALUES (gen_random_uuid(), 'Production', 'granted', '1000/51000', 1, now(), '1000', \(name)),
                       (gen_random_uuid(), 'Production', 'granted', '2000/52000', 2, now(), '2000', 'bob')
                """
            )
            try await ledger.run(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (source, received_at, body)
                    SELECT source, now(), convert_to(body, 'UTF8')
                    FROM (VALUES ('notification_v2', 'about 1000'), ('notification_v2', 'about 2000'),
                                 ('client_transaction', '{"user":"alice@example.com"}'), ('client_transaction', '{"user":"bob"}'),
                                 ('client_transaction', '{"user":"alice@example.com"}'), ('client_transaction', 'no JSON')) AS b (source, body)
                    RETURNING *
                ), waiting AS (
                    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT event_id, now(), 1 FROM stored WHERE event_id IN (4, 5)
                )
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, environment,
                                               original_transaction_id)
                SELECT event_id, source, received_at, now(), 1, 1, (CASE WHEN event_id < 3 THEN 'applied' ELSE 'rejected' END)::appstore.result, 'x',
                       CASE WHEN event_id < 3 THEN 'Production' END,
                       CASE event_id WHEN 1 THEN '1000' WHEN 2 THEN '2000' END
                FROM stored WHERE event_id NOT IN (4, 5)
                """
            )
            try await body(ledger)
        }
    }

    /// Forgets and returns the alias; empty when there was nothing to forget.
    static func forget(_ user: String = name, note: String = "request 7 of the DPO", in ledger: TestLedger) async throws -> String {
        let rows = try await ledger.database.withConnection(user: "appstore_operator") { connection in
            try await connection.query("SELECT alias FROM appstore.forget(\(user), \(note))")
        }
        return try rows.first?.decode(0, as: String?.self) ?? ""
    }

    /// The tables that contain a text in any column.
    static func tables(with text: String = name, in ledger: TestLedger) async throws -> [String] {
        let searches = try await ledger.lines(
            """
            SELECT string_agg(format('SELECT %L WHERE EXISTS (SELECT FROM appstore.%I AS t WHERE t::text LIKE %L OR t::text LIKE %L)',
                                     c.relname, c.relname, '%' || \(text) || '%', '%' || encode(convert_to(\(text), 'UTF8'), 'hex') || '%'),
                              ' UNION ALL ')
            FROM pg_class AS c WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r'
            """
        )
        return try await ledger.lines("\(unsafeRaw: searches[0]) ORDER BY 1")
    }

    /// Waits until another session waits for a lock that this one holds.
    static func awaitWaiting(for backend: Int32, in ledger: TestLedger) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        let question: Statement =
            "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND \(backend) = ANY (pg_blocking_pids(pid))"
        while try await ledger.lines(question) == ["0"] {
            try #require(ContinuousClock.now < deadline, "no session waits")
        }
    }

    /// Forgets while another session has an open transaction, which continues once forgetting waits for it.
    static func forget(
        in ledger: TestLedger,
        beside before: (Transaction) async throws -> Void,
        then after: (Transaction) async throws -> Void = { _ in }
    ) async throws -> String {
        try await ledger.database.withConnection { connection in
            let backend = try await connection.query("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self)
            return try await withThrowingTaskGroup(of: String.self) { group in
                try await connection.withTransaction { transaction in
                    try await before(transaction)
                    group.addTask { try await forget(in: ledger) }
                    try await awaitWaiting(for: backend, in: ledger)
                    try await after(transaction)
                }
                return try await group.next() ?? ""
            }
        }
    }
}
