import AppStore
import Postgres
import StrictJSON

/// An entitlement of a user, active or not.
struct Entitlement: Sendable {
    let json: JSONObject

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
        ]
    }
}
