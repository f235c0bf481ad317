import AppStore
import Postgres
import SQL
import StrictJSON

/// A user's download of an app.
struct UserAppTransaction: Sendable {
    let json: JSONObject

    /// Reads the downloads of a user in the apps of the key, the oldest first.
    static func statement(of user: String, in environment: AppStoreEnvironment, key: KeyScope) -> Statement {
        .apiAppTransactions(keyHash: key.hash, environment: environment.rawValue, userID: user)
    }

    init(_ row: Row) throws {
        json = [
            "appTransactionId": try .text(row, "app_transaction_id"),
            "bundleId": try .text(row, "bundle_id"),
            "originalApplicationVersion": try .text(row, "original_application_version"),
            "applicationVersion": try .text(row, "application_version"),
            "originalPurchaseDate": try .instant(row, "original_purchase_date"),
            "originalPlatform": try .text(row, "original_platform"),
            "preorderDate": try .instant(row, "preorder_date"),
            "storeType": try .text(row, "store_type"),
            "revocationDate": try .instant(row, "revocation_date"),
            "signedDate": try .instant(row, "signed_date"),
        ]
    }
}
