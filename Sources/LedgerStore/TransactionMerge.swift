import AppStore
import Ledger
import Postgres
import SQL

/// Merges transactions: the statement joins two registers as ``TransactionRegister/join(_:)`` does.
enum TransactionMerge {
    /// Returns environment, transaction_id, payload_hash and receipt_hash of the rows that changed.
    static func statement(_ registers: [TransactionRegister]) -> Statement {
        let rows = registers.map(TransactionRow.init)
        return Statement(.mergeTransactions, binding: columns.map { ($0.name, $0.bind(rows)) })
    }

    /// A bind of the statement: an array with one element for each register.
    private struct Column: Sendable {
        let name: String
        let bind: @Sendable ([TransactionRow]) -> any PostgresEncodable

        init<Value: PostgresScalar>(_ name: String, _ value: @escaping @Sendable (TransactionRow) -> Value?) {
            self.name = name
            bind = { $0.map(value) }
        }

        init(date name: String, _ value: @escaping @Sendable (TransactionRow) -> Timestamp?) {
            self.init(name) { PostgresTimestamp(value($0)) }
        }
    }

    /// In the order of the file.
    private static let columns = constants + gathered + state + versions

    /// Those of the JWS half if there is one; else of the receipt half.
    private static let constants: [Column] = [
        Column("environments") { $0.constant({ $0.key.environment.rawValue }, { $0.key.environment.rawValue }) },
        Column("transaction_ids") { $0.constant({ $0.key.id }, { $0.key.id }) },
        Column("original_transaction_ids") { $0.constant({ $0.originalTransactionID }, { $0.originalTransactionID }) },
        Column("web_order_line_item_ids") { $0.constant({ $0.payload.webOrderLineItemId }, { $0.content.webOrderLineItemID }) },
        Column("bundle_ids") { $0.constant({ $0.bundleID }, { $0.bundleID }) },
        Column("product_ids") { $0.constant({ $0.productID }, { $0.productID }) },
        Column(date: "purchase_dates") { $0.constant({ $0.purchaseDate }, { $0.purchaseDate }) },
        Column(date: "original_purchase_dates") { $0.constant({ $0.payload.originalPurchaseDate }, { $0.content.originalPurchaseDate }) },
        Column("quantities") { $0.constant({ $0.payload.quantity }, { $0.content.quantity }) },
        Column("offer_types") { $0.constant({ $0.payload.offerType?.rawValue }, { $0.content.offerType?.rawValue }) },
        Column("offer_identifiers") { $0.constant({ $0.payload.offerIdentifier }, { $0.content.offerIdentifier }) },
        Column("offer_discount_types") {
            $0.constant({ $0.payload.offerDiscountType?.rawValue }, { $0.content.offerDiscountType?.rawValue })
        },
        Column("offer_periods") { $0.payload?.offerPeriod },
        Column("storefronts") { $0.payload?.storefront },
        Column("storefront_ids") { $0.payload?.storefrontId },
        Column("transaction_reasons") { $0.payload?.transactionReason?.rawValue },
        Column("currencies") { $0.payload?.currency },
        Column("prices") { $0.payload?.price },
        Column("app_transaction_ids") { $0.payload?.appTransactionId },
        Column("billing_plan_types") { $0.payload?.billingPlanType?.rawValue },
        Column("period_nos") { $0.constant({ $0.periodNumber }, { $0.periodNumber }) },
    ]

    /// Those of the JWS half if there is one; else of any receipt that has them.
    private static let gathered: [Column] = [
        Column("product_types") { $0.constant({ $0.payload.type?.rawValue }, gathered: { $0.productType?.rawValue }) },
        Column("in_app_ownership_types") {
            $0.constant({ $0.payload.inAppOwnershipType?.rawValue }, gathered: { $0.inAppOwnershipType?.rawValue })
        },
        Column("subscription_group_identifiers") {
            $0.constant({ $0.payload.subscriptionGroupIdentifier }, gathered: { $0.subscriptionGroupIdentifier })
        },
        Column("is_subscription") { $0.constant({ $0.isSubscription }, gathered: { $0.isSubscription }) },
        // For a charge without a JWS, the first token: later receipts do not change it.
        Column("app_account_tokens") { row in
            row.constant({ OrderNumber.named(by: $0.payload.appAccountToken) }, gathered: { _ in row.register.firstToken?.token })
        },
    ]

    /// Those of the half that states them; only a JWS has the extent of a refund, whichever half reports the refund.
    private static let state: [Column] = [
        Column(date: "expires_dates") { $0.state({ $0.payload.expiresDate }, { $0.expiresDate }) },
        Column(date: "revocation_dates") { $0.state({ $0.payload.revocationDate }, { $0.revocationDate }) },
        Column("revocation_reasons") { $0.state({ $0.payload.revocationReason?.rawValue }, { $0.revocationReason?.rawValue }) },
        Column("is_upgraded") { $0.state({ $0.payload.isUpgraded }, { $0.isUpgraded }) },
        Column("revocation_types") { $0.payload?.revocationType?.rawValue },
        Column("revocation_percentages") { $0.payload?.revocationPercentage },
    ]

    /// The versions, the receipt half alone, and the columns that join by themselves.
    private static let versions: [Column] = [
        Column(date: "signed_dates") { $0.register.signed?.version.signedDate },
        Column("payload_hashes") { $0.register.signed?.version.hash },
        Column(date: "receipt_dates") { $0.receipt?.version.signedDate },
        Column("receipt_hashes") { $0.receipt?.version.hash },
        Column(date: "receipt_expires_dates") { $0.receipt?.content.expiresDate },
        Column(date: "receipt_revocation_dates") { $0.receipt?.content.revocationDate },
        Column("receipt_revocation_reasons") { $0.receipt?.content.revocationReason?.rawValue },
        Column("receipt_is_upgraded") { $0.receipt?.content.isUpgraded },
        Column(date: "first_signed_dates") { $0.register.firstSignedDate },
        Column("first_tokens") { $0.register.firstToken?.token },
        Column(date: "first_token_signed_dates") { $0.firstTokenVersion?.signedDate },
        Column("first_token_hashes") { $0.firstTokenVersion?.hash },
    ]
}
