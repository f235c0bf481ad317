package import PostgresTesting

import InboxTesting
package import Postgres

/// What follows from facts and commands.
package enum DerivedAgain {
    /// Derives everything again: some hundred contracts a call, in either version of the schema.
    package static let all: Statement = """
        SELECT appstore.derive_ledger(
            slice.environment,
            ARRAY(SELECT t.transaction_id FROM appstore.transactions AS t
                  WHERE t.original_transaction_id = ANY (slice.ids) AND t.environment = slice.environment ORDER BY t.transaction_id),
            slice.ids)
        FROM (
            SELECT numbered.environment, array_agg(numbered.id ORDER BY numbered.id) AS ids
            FROM (
                SELECT known.environment, known.id, (row_number() OVER (PARTITION BY known.environment ORDER BY known.id) - 1) / 500 AS number
                FROM (
                    SELECT t.environment, t.original_transaction_id AS id FROM appstore.transactions AS t
                    UNION
                    SELECT m.environment, m.original_transaction_id FROM appstore.contracts AS m
                ) AS known
            ) AS numbered
            GROUP BY numbered.environment, numbered.number
        ) AS slice
        """

    /// The rows that follow from facts and commands, one line each. Aliases of forgotten users are random, and are left out.
    package static func rows(_ database: TestDatabase) async throws -> [String] {
        var lines: [String] = []
        for (table, hidden, key) in [
            ("transactions", "'{left_contract}'", "environment, transaction_id"),
            ("orders", "'{ordered_at}'", "environment, order_no"),
            ("contracts", "'{}'", "environment, original_transaction_id"),
            ("ownership_claims", "'{}'", "environment, original_transaction_id, kind, source_id"),
            ("client_posts", "'{post_id}'", "environment, original_transaction_id, user_id, is_receipt, transaction_id"),
            ("refund_requests", "'{left_transaction_id}'", "environment, notification_uuid"),
            ("consumption_obligations", "'{}'", "environment, transaction_id"),
        ] {
            lines += try await database.lines(
                """
                SELECT \(table) || ' ' || regexp_replace((to_jsonb(t) - \(unsafeRaw: hidden)::text[])::text, 'forgotten:[-0-9a-f]+', 'forgotten', 'g')
                FROM appstore.\(identifier: table) AS t ORDER BY \(unsafeRaw: key)
                """
            )
        }
        return lines
    }

    /// The effects: `environment kind subject`.
    package static func effects(_ database: TestDatabase) async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws(' ', environment, kind, subject) AS effect FROM appstore.effect_log ORDER BY 1"
        )
    }

    /// The effects of copies that have a grant of their own, which only version 2 gave.
    package static func grantsOfCopies(_ database: TestDatabase) async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', e.environment, e.kind, e.subject) AS effect
            FROM appstore.effect_log AS e
            JOIN appstore.transactions AS t ON t.transaction_id = e.subject AND t.environment = e.environment
            WHERE e.kind = 'granted' AND NOT t.is_subscription AND t.product_type IS DISTINCT FROM 'Consumable'
              AND t.transaction_id <> t.original_transaction_id
            ORDER BY 1
            """
        )
    }
}
