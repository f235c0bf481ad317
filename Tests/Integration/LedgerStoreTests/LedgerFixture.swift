import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import PostgresTesting

/// The ledger of one test: takes facts and commands, and returns rows as lines of text.
struct LedgerFixture {
    let database: TestDatabase
    let pool: ConnectionPool

    static func with(_ body: (LedgerFixture) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        let ledger = LedgerFixture(database: database, pool: try database.pool(user: "appstore_worker"))
        try await body(ledger)
        await ledger.pool.close()
    }

    /// Merges one event for each fact, all in one batch.
    func merge(_ charges: Facts.Charge..., renewals: [SubscriptionFact] = []) async throws {
        try await merge(events(charges, renewals))
    }

    func events(_ charges: [Facts.Charge], _ renewals: [SubscriptionFact] = []) throws -> [EventFacts] {
        let transactions = try charges.map { Facts.event(Int64.random(in: 1...(.max)), transaction: try $0.fact()) }
        return transactions + renewals.map { Facts.event(Int64.random(in: 1...(.max)), subscription: $0) }
    }

    /// Merges the events as one batch, without effects.
    @discardableResult
    func merge(_ events: [EventFacts]) async throws -> MergeResult {
        let fold = BatchFold(
            events.map { event in
                var event = event
                event.effects = []
                return event
            }
        )
        return try await pool.withTransaction { try await LedgerMerger.merge(fold, in: $0) }
    }

    /// Merges the events as one batch, with effects.
    func mergeWithEffects(_ events: [EventFacts]) async throws -> MergeResult {
        try await pool.withTransaction { try await LedgerMerger.merge(BatchFold(events), in: $0) }
    }

    func createOrder(_ no: UUID, user: String, product: String = "pro.monthly", bundle: String? = nil) async throws {
        try await database.withConnection(user: "appstore_backend") { connection in
            _ = try await connection.execute("SELECT appstore.create_order(\(user), \(product), \(no), \(bundle as String?))")
        }
    }

    /// Orders: `transaction_id user status`, then `token` or `period` as the source of the number; pending ones first.
    func orders(_ environment: String = "Production") async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', coalesce(transaction_id, '-'), coalesce(user_id, '-'), status,
                             CASE WHEN order_no = period_no THEN 'period' ELSE 'token' END, reason)
            FROM appstore.orders WHERE environment = \(environment)::appstore.environment ORDER BY transaction_id NULLS FIRST, order_no
            """
        )
    }

    /// Contracts: `contract user current-transaction access-until-in-days`.
    func contracts(_ environment: String = "Production") async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', original_transaction_id, coalesce(user_id, '-'), current_transaction_id,
                             round((extract(epoch FROM access_until) - extract(epoch FROM timestamptz '2026-01-01 00:00+00')) / 86400, 2)::float8)
            FROM appstore.contracts WHERE environment = \(environment)::appstore.environment ORDER BY original_transaction_id
            """
        )
    }

    /// Every business column of the ledger, in key order.
    func state() async throws -> [String] {
        var lines: [String] = []
        for (table, hidden, order) in [
            ("transactions", "'{left_contract}'", "environment, transaction_id"),
            ("posted_types", "'{}'", "environment, transaction_id"),
            ("v1_renewals", "'{}'", "environment, original_transaction_id, bundle_id"),
            ("client_posts", "'{post_id}'", "environment, original_transaction_id, user_id, is_receipt, transaction_id"),
            ("refund_requests", "'{left_transaction_id}'", "environment, notification_uuid"),
            ("consumption_obligations", "'{}'", "environment, transaction_id"),
            ("orders", "'{ordered_at}'", "environment, order_no"),
            ("ownership_claims", "'{}'", "environment, original_transaction_id, kind, source_id"),
            ("contracts", "'{}'", "environment, original_transaction_id"),
        ] {
            lines += try await database.lines(
                """
                SELECT \(table) || ' ' || (to_jsonb(t) - \(unsafeRaw: hidden)::text[])::text
                FROM appstore.\(identifier: table) AS t ORDER BY \(unsafeRaw: order)
                """
            )
        }
        return lines
    }
}
