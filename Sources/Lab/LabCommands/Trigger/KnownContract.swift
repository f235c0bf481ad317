import AppStore
import FoundationEssentials
import Postgres
import StoreSimulator

/// A contract in the ledger: a subscription or a single purchase, with its current charge.
struct KnownContract {
    /// The user has no contract, or several.
    struct Unclear: Error, CustomStringConvertible {
        let description: String
    }

    let contract: ExistingContract

    /// The only one of these; throws ``Unclear``, which lists them, when there are several.
    static func only(_ found: [KnownContract], of user: String?) throws(Unclear) -> ExistingContract {
        let whose = user.map { "user \($0)" } ?? "this originalTransactionId"
        guard let first = found.first else {
            throw Unclear(description: "no contract of \(whose) is known: post its purchase first, with --app-account-token ORDER")
        }
        guard found.count == 1 else {
            throw Unclear(
                description: (["\(whose) has several contracts: choose one with --contract ORIGINAL_TRANSACTION_ID"] + found.map(\.line))
                    .joined(separator: "\n  ")
            )
        }
        return first.contract
    }

    private var line: String {
        let (charge, app) = (contract.transaction, contract.app)
        return "\(charge.originalTransactionID)  \(charge.product.id)  \(app.bundleID)  \(app.environment.rawValue)"
    }

    /// Contracts give access; a consumable with an owner is known by the order that it pays.
    static func statement(user: String?, original: String?) -> Statement {
        """
        WITH known AS (
            SELECT c.environment, c.current_transaction_id AS transaction_id, c.status, c.will_renew
            FROM appstore.contracts AS c
            WHERE (c.user_id = \(user)::text OR \(user)::text IS NULL)
              AND (c.original_transaction_id = \(original)::text OR \(original)::text IS NULL)
            UNION ALL
            SELECT o.environment, o.transaction_id, NULL, NULL
            FROM appstore.orders AS o
            WHERE (o.user_id = \(user)::text OR \(user)::text IS NULL)
              AND (o.original_transaction_id = \(original)::text OR \(original)::text IS NULL)
              AND NOT EXISTS (SELECT FROM appstore.contracts AS c
                              WHERE c.original_transaction_id = o.original_transaction_id AND c.environment = o.environment)
        )
        SELECT k.environment::text AS environment, k.status, k.will_renew, t.transaction_id, t.original_transaction_id,
               t.web_order_line_item_id, t.bundle_id, t.product_id, t.product_type, t.subscription_group_identifier, t.is_subscription,
               t.purchase_date, t.original_purchase_date, t.expires_date, t.quantity, t.transaction_reason, t.price, t.currency, t.storefront,
               t.storefront_id, t.app_account_token::text AS app_account_token, t.app_transaction_id, t.in_app_ownership_type, t.revocation_date
        FROM known AS k JOIN appstore.transactions AS t ON t.transaction_id = k.transaction_id AND t.environment = k.environment
        ORDER BY t.purchase_date DESC LIMIT 20
        """
    }

    /// Reads a row of ``statement(user:original:)``.
    init(_ row: Row) throws {
        let purchaseDate = try row.instant("purchase_date") ?? Timestamp(millisecondsSince1970: 0)
        let expiresDate = try row.instant("expires_date")
        var contract = ExistingContract(
            app: try row.app(),
            product: try row.product(lastingFrom: purchaseDate, to: expiresDate),
            transactionID: try row.decode("transaction_id"),
            originalTransactionID: try row.decode("original_transaction_id"),
            purchaseDate: purchaseDate,
            originalPurchaseDate: try row.instant("original_purchase_date") ?? purchaseDate
        )
        contract.status = try row.decode("status", as: Int32?.self).map(Status.init(rawValue:))
        contract.autoRenews = try row.decode("will_renew", as: Bool?.self) ?? true
        contract.transaction.webOrderLineItemID = try row.decode("web_order_line_item_id")
        contract.transaction.expiresDate = expiresDate
        contract.transaction.quantity = try row.decode("quantity", as: Int32?.self) ?? 1
        contract.transaction.reason =
            try row.decode("transaction_reason", as: String?.self).map(TransactionReason.init(rawValue:)) ?? .purchase
        contract.transaction.appAccountToken = try row.decode("app_account_token", as: String?.self).flatMap { UUID(uuidString: $0) }
        contract.transaction.appTransactionID = try row.decode("app_transaction_id", as: String?.self) ?? ""
        if let ownership = try row.decode("in_app_ownership_type", as: String?.self).map(InAppOwnershipType.init(rawValue:)) {
            contract.transaction.ownership = ownership
            if !ownership.isPurchase { contract.transaction.price = nil }
        }
        contract.transaction.revocation = try row.instant("revocation_date").map { .refund(at: $0) }
        self.contract = contract
    }
}

extension Row {
    fileprivate func instant(_ column: String) throws -> Timestamp? {
        try decode(column, as: PostgresTimestamp?.self).map { Timestamp(millisecondsSince1970: $0.millisecondsSince1970) }
    }

    fileprivate func app() throws -> SimulatedApp {
        var app = SimulatedApp(
            bundleID: try decode("bundle_id"),
            environment: AppStoreEnvironment(rawValue: try decode("environment"))
        )
        if let country = try decode("storefront", as: String?.self), let id = try decode("storefront_id", as: String?.self) {
            app.storefront = Storefront(countryCode: country, id: id, currency: try decode("currency", as: String?.self) ?? "USD")
        }
        return app
    }

    fileprivate func product(lastingFrom start: Timestamp, to end: Timestamp?) throws -> SimulatedProduct {
        let (id, price): (String, Int64) = (try decode("product_id"), try decode("price", as: Int64?.self) ?? 0)
        guard try decode("is_subscription") else {
            return .oneTime(id, try decode("product_type", as: String?.self).map(ProductType.init(rawValue:)) ?? .consumable, price: price)
        }
        let minutes = ((end ?? start).millisecondsSince1970 - start.millisecondsSince1970) / 60_000
        var plan = SimulatedProduct.subscription(id, every: .minutes(max(1, Int(minutes))), price: price)
        plan.subscriptionGroupID = try decode("subscription_group_identifier")
        return plan
    }
}
