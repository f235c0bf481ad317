import Foundation
import Postgres

/// A charge in the register: by default a month of a subscription, bought by the customer, with its own period.
struct Charge {
    var id: String
    var contract: String
    var product: String
    var type: String
    var bundle = "com.example.app"
    var environment = "Production"
    var purchaseDay: Double
    var endDay: Double?
    /// When Apple signed this fact, and the first fact about the charge.
    var signedDay: Double
    var token: UUID?
    /// The token of the latest fact, where it differs from the first one.
    var laterToken: UUID?
    var isShared = false
    var isUpgraded: Bool?
    var revocationDay: Double?
    var revocationPercentage: Int32?

    init(_ id: String, onDay day: Double, token: UUID? = nil) {
        self.id = id
        contract = "1000"
        product = "pro.monthly"
        type = "Auto-Renewable Subscription"
        purchaseDay = day
        endDay = day + 30
        signedDay = day
        self.token = token
    }

    /// A product that is bought once.
    init(_ product: String, _ type: String, _ id: String, onDay day: Double, token: UUID? = nil) {
        self.init(id, onDay: day, token: token)
        self.product = product
        self.type = type
        contract = id
        endDay = nil
    }

    func with(_ change: (inout Charge) -> Void) -> Charge {
        var copy = self
        change(&copy)
        return copy
    }

    private var isSubscription: Bool { type == "Auto-Renewable Subscription" }

    var statement: Statement {
        let lineItem = isSubscription ? "5" + id : nil
        let hash = Array("\(self)".utf8)
        let firstTokenDay = token.map { _ in signedDay }
        return """
            INSERT INTO appstore.transactions AS t
                (environment, transaction_id, original_transaction_id, web_order_line_item_id, bundle_id, product_id, product_type,
                 purchase_date, expires_date, quantity, app_account_token, in_app_ownership_type, revocation_date, revocation_reason,
                 revocation_percentage, is_upgraded, currency, price, signed_date, payload_hash, first_signed_date, first_token,
                 first_token_signed_date, first_token_hash, period_no, is_subscription, is_purchased)
            SELECT \(environment)::appstore.environment, \(id), \(contract), \(lineItem), \(bundle), \(product), \(type),
                   \(timestamp(purchaseDay)), \(timestamp(endDay)), 1, \(laterToken ?? token), \(isShared ? "FAMILY_SHARED" : "PURCHASED"),
                   \(timestamp(revocationDay)), CASE WHEN \(revocationDay) IS NOT NULL THEN 1 END,
                   \(revocationPercentage), \(isUpgraded), 'EUR', 9990, \(timestamp(signedDay)), \(hash), \(timestamp(signedDay)), \(token),
                   \(timestamp(firstTokenDay)), CASE WHEN \(firstTokenDay) IS NOT NULL THEN \(hash) END,
                   md5(concat_ws('/', \(environment), \(contract), \(id)))::uuid, \(isSubscription), NOT \(isShared)
            ON CONFLICT (environment, transaction_id) DO UPDATE
            SET app_account_token = excluded.app_account_token, revocation_date = excluded.revocation_date,
                revocation_reason = excluded.revocation_reason, revocation_percentage = excluded.revocation_percentage,
                expires_date = excluded.expires_date, is_upgraded = excluded.is_upgraded,
                signed_date = excluded.signed_date, payload_hash = excluded.payload_hash
            """
    }
}
