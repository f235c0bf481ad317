import Foundation
import InboxTesting
import Postgres
import Testing

/// One user's entitlements are read by index, however many users there are.
struct EntitlementPlanTests {
    /// States of the planner's statistics.
    enum Statistics: CaseIterable, Sendable {
        /// Empty tables, nothing known.
        case none
        /// Filled after they were analysed while empty.
        case stale
        case fresh
    }

    @Test(arguments: Statistics.allCases, ["entitlements", "entitlements_at(now())"])
    func `rows of other users are not read`(statistics: Statistics, source: String) async throws {
        try await TestLedger.with { ledger in
            if statistics == .stale { try await ledger.run("ANALYZE") }
            if statistics != .none { try await ledger.fill(1...30_000) }
            if statistics == .fresh { try await ledger.run("ANALYZE") }
            let plan = try await ledger.database.withConnection(user: "appstore_backend") { connection in
                let rows = try await connection.query(
                    """
                    EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off)
                    SELECT * FROM appstore.\(unsafeRaw: source) WHERE environment = 'Production' AND user_id = 'user-77'
                    """
                )
                return try rows.map { try $0.decode(0, as: String.self) }
            }
            let text = plan.joined(separator: "\n")
            #expect(text.contains("contracts_by_user"), "\(text)")
            #expect(!text.contains("Function Scan"), "\(text)")
            for table in ["contracts", "transactions"] {
                #expect(!text.contains("Seq Scan on \(table)"), "\(text)")
            }
        }
    }
}

extension TestLedger {
    /// Inserts derived subscriptions of these users.
    func fill(_ customers: ClosedRange<Int>) async throws {
        for statement: Statement in [
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, expires_date, in_app_ownership_type, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
            SELECT 'Production', (100000 + n)::text, (100000 + n)::text, 'com.example.app', 'pro.monthly', 'Auto-Renewable Subscription',
                   now(), now() + interval '30 days', 'PURCHASED', now(), '\\x01', now(), gen_random_uuid(), true
            FROM generate_series(\(customers.lowerBound), \(customers.upperBound)) AS n
            """,
            """
            INSERT INTO appstore.contracts (environment, original_transaction_id, user_id, bundle_id, product_id, product_type, status, will_renew,
                current_transaction_id, current_period_start, current_period_end, access_until, renewal_status, auto_renew_status,
                renewal_signed_date, renewal_hash)
            SELECT 'Production', (100000 + n)::text, 'user-' || n, 'com.example.app', 'pro.monthly', 'Auto-Renewable Subscription', 1, true,
                   (100000 + n)::text, now(), now() + interval '30 days', now() + interval '30 days', 1, 1, now(), '\\x01'
            FROM generate_series(\(customers.lowerBound), \(customers.upperBound)) AS n
            """,
        ] {
            try await run(statement)
        }
    }
}
