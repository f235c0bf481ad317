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
        FROM (
            SELECT unnest(\(facts.map(\.contract.environment.rawValue))) AS environment,
                   unnest(\(facts.map(\.contract.id))) AS original_transaction_id, unnest(\(facts.map(\.key.bundleID))) AS bundle_id,
                   unnest(\(facts.map(\.provenance.rawValue))) AS provenance, unnest(\(facts.map(\.renewal.productID))) AS product_id,
                   unnest(\(facts.map(\.renewal.autoRenewProductID))) AS auto_renew_product_id,
                   unnest(\(facts.map(\.renewal.autoRenewStatus?.rawValue))) AS auto_renew_status,
                   unnest(\(facts.map(\.renewal.isInBillingRetryPeriod))) AS is_in_billing_retry_period,
                   unnest(\(facts.map(\.renewal.expirationIntent?.rawValue))) AS expiration_intent,
                   unnest(\(facts.map { PostgresTimestamp($0.renewal.gracePeriodExpiresDate) })) AS grace_period_expires_date,
                   unnest(\(facts.map { ($0.renewal.priceIncreaseStatus ?? $0.renewal.priceConsentStatus)?.rawValue }))
                       AS price_increase_status,
                   unnest(\(facts.map(\.renewal.promotionalOfferID))) AS promotional_offer_id,
                   unnest(\(facts.map(\.renewal.offerCodeRefName))) AS offer_code_ref_name,
                   unnest(\(facts.map { PostgresTimestamp($0.version.signedDate) })) AS stated_at,
                   unnest(\(facts.map(\.version.hash))) AS fact_hash
        ) AS u
        ORDER BY u.environment, u.original_transaction_id, u.bundle_id
        ON CONFLICT (original_transaction_id, environment, bundle_id) DO UPDATE
        SET \(unsafeRaw: replaced.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
        WHERE (excluded.stated_at, excluded.fact_hash) > (l.stated_at, l.fact_hash)
        RETURNING l.environment::text, l.original_transaction_id, l.bundle_id
        """
    }
}
