import InboxTesting
import LivesTesting
import Postgres
import PostgresTesting

/// All of the ledger derived once more.
///
/// The general path derives it then, whatever derived it before: the plain path of `apply_facts`, a batch with some events of a contract, or a
/// command. If no row changes, both paths agree, however the events were divided into batches.
extension LedgerFixture {
    /// What differs after all of the ledger is derived again: the row before and afterwards, with its table, contract and key.
    func differencesWhenDerivedAgain() async throws -> [String] {
        let before = try await rows()
        try await retrying { try await deriveAgain() }
        if isTold { try await database.sequenceFeed() }
        let after = try await rows()
        let keys = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }.sorted()
        return keys.map { "\($0)\n  before: \(before[$0] ?? "no row")\n  afterwards: \(after[$0] ?? "no row")" }
    }

    /// The transactions whose order has another user or status by the functions than in the view, which writes their rules out.
    func ordersThatContradict() async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', 'order', t.environment, t.original_transaction_id, t.order_no, 'of', t.transaction_id) || format(
                       ': %s %s in the view, %s %s by the functions', o.user_id, o.status, given.user_id, paid.status)
            FROM appstore.transactions AS t
            CROSS JOIN LATERAL appstore.order_user(
                t.environment, t.order_no, t.period_no, t.original_transaction_id, t.purchase_date, t.is_later_copy) AS given
            CROSS JOIN LATERAL appstore.paid_period(t.environment, t.period_no) AS paid
            LEFT JOIN LATERAL (
                SELECT o.order_no, o.user_id, o.status FROM appstore.orders AS o
                WHERE o.order_no = t.order_no AND o.environment = t.environment OFFSET 0
            ) AS o ON true
            WHERE t.order_no IS NOT NULL
              AND (o.order_no IS NULL OR (given.user_id, paid.status) IS DISTINCT FROM (o.user_id, o.status))
            ORDER BY 1
            """
        )
    }

    /// Derives all transactions, contracts, posts, renewals and orders, as the step of an upgrade does: some hundred contracts a call.
    private func deriveAgain() async throws {
        try await shop.withTransaction { connection in
            _ = try await connection.execute(
                """
                WITH contract AS (
                    SELECT m.environment, m.original_transaction_id AS id FROM appstore.contracts AS m
                    UNION SELECT t.environment, t.original_transaction_id FROM appstore.transactions AS t
                    UNION SELECT p.environment, p.original_transaction_id FROM appstore.client_posts AS p
                ), slice AS (
                    SELECT numbered.environment, array_agg(numbered.id ORDER BY numbered.id) AS ids
                    FROM (SELECT c.*, (row_number() OVER (PARTITION BY c.environment ORDER BY c.id) - 1) / 300 AS number
                          FROM contract AS c) AS numbered
                    GROUP BY numbered.environment, numbered.number
                )
                SELECT appstore.derive_ledger(
                    slice.environment,
                    ARRAY(SELECT t.transaction_id FROM appstore.transactions AS t
                          WHERE t.original_transaction_id = ANY (slice.ids) AND t.environment = slice.environment ORDER BY 1),
                    slice.ids,
                    ARRAY(SELECT o.order_no FROM appstore.token_orders AS o
                          WHERE o.original_transaction_id = ANY (slice.ids) AND o.environment = slice.environment ORDER BY 1),
                    slice.ids)
                FROM slice
                """
            )
            _ = try await connection.execute(
                """
                SELECT appstore.derive_ledger(
                    e.environment, '{}', '{}',
                    ARRAY(SELECT o.order_no FROM appstore.token_orders AS o
                          WHERE o.environment = e.environment AND o.original_transaction_id IS NULL ORDER BY 1))
                FROM unnest(enum_range(NULL::appstore.environment)) AS e (environment)
                """
            )
        }
    }

    /// All rows of the ledger and of the feed, by table, environment, contract and key. Nothing in them may change, neither their times.
    private func rows() async throws -> [String: String] {
        let statements = Self.derivedTables.map { table, key in
            """
            SELECT concat_ws(' ', '\(table)', r.environment, coalesce(r.original_transaction_id, '-'), \(key)), to_jsonb(r)::text
            FROM appstore.\(table) AS r
            """
        }
        return try await shop.withConnection { connection in
            var rows: [String: String] = [:]
            for statement in statements + [Self.feed] {
                for row in try await connection.query(Statement(stringLiteral: statement)) {
                    rows[try row.decode(0, as: String.self)] = try row.decode(1, as: String.self)
                }
            }
            return rows
        }
    }

    private static let derivedTables = [
        ("transactions", "r.transaction_id"), ("v1_renewals", "r.bundle_id"), ("contracts", "''"), ("orders", "r.order_no"),
        ("ownership_claims", "r.kind || ':' || r.source_id"), ("client_posts", "r.post_id"),
        ("refund_requests", "r.notification_uuid"), ("consumption_obligations", "r.transaction_id"), ("effect_log", "r.effect_id"),
    ]

    private static let feed = """
        SELECT concat_ws(' ', 'feed', r.environment, r.subject, r.position), to_jsonb(r)::text FROM appstore.feed AS r
        """
}
