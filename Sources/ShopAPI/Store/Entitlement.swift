import AppStore
import Postgres
import SQL
import StrictJSON

/// An entitlement of a user, active or not.
struct Entitlement: Sendable {
    let json: JSONObject

    /// Reads the entitlements of a user, active or not, in the apps of the key.
    static func statement(of user: String, in environment: AppStoreEnvironment, key: KeyScope) -> Statement {
        .apiEntitlements(keyHash: key.hash, environment: environment.rawValue, userID: user)
    }

    init(_ row: Row) throws {
        json = [
            "entitlement": .string(try row.decode("entitlement")),
            "active": try .flag(row, "active"),
            "until": try .instant(row, "ends_at"),
            "why": try .text(row, "why"),
            "inGrace": try .flag(row, "in_grace"),
            "willRenew": try .flag(row, "will_renew"),
            "product": try .text(row, "product_id"),
            "bundleId": try .text(row, "bundle_id"),
            "originalTransactionId": try .text(row, "original_transaction_id"),
            "seats": try .document(row, "seats"),
            "commitmentUntil": try .instant(row, "commitment_until"),
            "commitmentWillRenew": try .flag(row, "commitment_will_renew"),
        ]
    }
}
