import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import PostgresTesting

/// Writes to the ledger as a worker would.
extension TestDatabase {
    /// Runs a statement as superuser.
    func change(_ statement: Statement) async throws {
        _ = try await withConnection { try await $0.execute(statement) }
    }

    /// Adds a charge of a subscription that was made an hour ago and expires in 30 days.
    func addCharge(
        _ transaction: String,
        environment: AppStoreEnvironment = .production,
        app: String = "com.example.tides",
        token: UUID? = nil
    ) async throws {
        try await change(
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, expires_date, in_app_ownership_type, app_account_token, first_token, signed_date, first_signed_date, payload_hash, period_no, is_subscription)
            SELECT \(environment.rawValue)::appstore.environment, \(transaction), \(transaction), \(app), 'pro.monthly', 'Auto-Renewable Subscription',
                now() - interval '1 hour', now() + interval '30 days', 'PURCHASED', t.token, t.token,
                now(), now(), '\\x01', gen_random_uuid(), true
            FROM (SELECT \(token) AS token) AS t
            """
        )
        try await change(
            "SELECT appstore.derive_ledger(\(environment.rawValue)::appstore.environment, ARRAY[\(transaction)], ARRAY[\(transaction)])"
        )
    }

    /// Settles an event as a worker does.
    func settle(_ event: String, _ result: String, reason: String? = nil, app: String? = "com.example.tides") async throws {
        try await change("DELETE FROM appstore.inbox_queue WHERE event_id = \(event)::text::bigint")
        try await change(
            """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, environment,
                                           bundle_id, transaction_id, original_transaction_id)
            SELECT event_id, source, received_at, now(), 1, 1, \(result)::text::appstore.result, \(reason), 'Production', \(app), '71', '70'
            FROM appstore.inbox WHERE event_id = \(event)::text::bigint
            """
        )
    }

    /// Waits until an event is in the queue and returns its id.
    func awaitEvent() async throws -> String {
        while true {
            if let event = try await lines("SELECT event_id::text FROM appstore.inbox_queue ORDER BY event_id DESC LIMIT 1").first {
                return event
            }
        }
    }
}
