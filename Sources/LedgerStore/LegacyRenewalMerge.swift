import AppStore
import Ledger
import Postgres

/// How the legacy registers of renewals are merged: one upsert for a whole batch, in key order.
enum LegacyRenewalMerge {
    private static let replaced = [
        "provenance", "product_id", "auto_renew_product_id", "auto_renew_status", "is_in_billing_retry_period", "expiration_intent",
        "grace_period_expires_date", "price_increase_status", "promotional_offer_id", "offer_code_ref_name", "stated_at", "fact_hash",
    ]
    private static let columns = ["environment", "original_transaction_id", "bundle_id"] + replaced

    /// Returns environment, original_transaction_id and bundle_id of the rows that moved.
    static func statement(_ facts: [LegacyRenewalFact]) -> Statement {
        """
        INSERT INTO appstore.legacy_renewals AS l (\(unsafeRaw: columns.joined(separator: ", ")))
        SELECT \(unsafeRaw: columns.map { "u." + $0 }.joined(separator: ", "))
        FROM unnest(
            \(facts.map(\.contract.environment.rawValue)), \(facts.map(\.contract.id)), \(facts.map(\.key.bundleID)),
            \(facts.map(\.provenance.rawValue)),
            \(facts.map(\.renewal.productID)), \(facts.map(\.renewal.autoRenewProductID)),
            \(facts.map(\.renewal.autoRenewStatus?.rawValue)), \(facts.map(\.renewal.isInBillingRetryPeriod)),
            \(facts.map(\.renewal.expirationIntent?.rawValue)), \(facts.map { PostgresTimestamp($0.renewal.gracePeriodExpiresDate) }),
            \(facts.map { ($0.renewal.priceIncreaseStatus ?? $0.renewal.priceConsentStatus)?.rawValue }),
            \(facts.map(\.renewal.promotionalOfferID)), \(facts.map(\.renewal.offerCodeRefName)),
            \(facts.map { PostgresTimestamp($0.version.signedDate) }), \(facts.map(\.version.hash))
        ) AS u (\(unsafeRaw: columns.joined(separator: ", ")))
        ORDER BY u.environment, u.original_transaction_id, u.bundle_id
        ON CONFLICT (original_transaction_id, environment, bundle_id) DO UPDATE
        SET \(unsafeRaw: replaced.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
        WHERE (excluded.stated_at, excluded.fact_hash) > (l.stated_at, l.fact_hash)
        RETURNING l.environment::text, l.original_transaction_id, l.bundle_id
        """
    }
}
