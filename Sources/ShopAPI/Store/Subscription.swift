import AppStore
import Postgres
import SQL
import StrictJSON

/// A contract in the ledger.
struct Subscription: Sendable {
    /// All members except originalTransactionId and environment.
    let json: JSONObject

    /// Reads a contract; no row when none is covered by the key.
    static func statement(of contract: String, in environment: AppStoreEnvironment, key: KeyScope) -> Statement {
        .apiSubscription(keyHash: key.hash, environment: environment.rawValue, originalTransactionID: contract)
    }

    init(_ row: Row) throws {
        json = [
            "user": try .text(row, "user_id"),
            "bundleId": try .text(row, "bundle_id"),
            "product": try .text(row, "product_id"),
            "productType": try .text(row, "product_type"),
            "active": try .flag(row, "active"),
            "until": try .instant(row, "ends_at"),
            "status": try .integer(row, "status"),
            "willRenew": try .flag(row, "will_renew"),
            "renewsAs": try .text(row, "renews_as"),
            "expirationIntent": try .integer(row, "expiration_intent"),
            "inBillingRetry": try .flag(row, "in_billing_retry"),
            "graceUntil": try .instant(row, "grace_ends_at"),
            "startedAt": try .instant(row, "started_at"),
            "periodStartedAt": try .instant(row, "period_started_at"),
            "periodEndsAt": try .instant(row, "period_ends_at"),
            "revokedAt": try .instant(row, "revoked_at"),
            "transactionId": try .text(row, "transaction_id"),
            "seats": try .document(row, "seats"),
            "commitment": try Self.commitment(row),
        ]
    }

    private static func commitment(_ row: Row) throws -> JSONValue {
        let end = try JSONValue.instant(row, "commitment_until")
        guard end != .null else { return .null }
        return .object([
            "until": end,
            "paymentsLeft": try .integer(row, "commitment_payments_left"),
            "willRenew": try .flag(row, "commitment_will_renew"),
            "price": .optional(try row.decode("commitment_price", as: Int64?.self)),
            "currency": try .text(row, "currency"),
        ])
    }
}
