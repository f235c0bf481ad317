import AppStore
import Ledger
import Postgres
import SQL

/// Merges transactions: the statement joins two registers as ``TransactionRegister/join(_:)`` does.
enum TransactionMerge {
    /// Returns environment, transaction_id, payload_hash and receipt_hash of the rows that changed.
    static func statement(_ registers: [TransactionRegister]) -> Statement {
        let rows = registers.map(TransactionRow.init)
        return .mergeTransactions(
            // Those of the JWS half if there is one; else of the receipt half.
            environments: rows.map { $0.constant({ $0.key.environment.rawValue }, { $0.key.environment.rawValue }) },
            transactionIDs: rows.map { $0.constant({ $0.key.id }, { $0.key.id }) },
            originalTransactionIDs: rows.map { $0.constant({ $0.originalTransactionID }, { $0.originalTransactionID }) },
            webOrderLineItemIDs: rows.map { $0.constant({ $0.payload.webOrderLineItemId }, { $0.content.webOrderLineItemID }) },
            bundleIDs: rows.map { $0.constant({ $0.bundleID }, { $0.bundleID }) },
            productIDs: rows.map { $0.constant({ $0.productID }, { $0.productID }) },
            purchaseDates: rows.dates(\.purchaseDate),
            originalPurchaseDates: rows.dates { $0.originalPurchaseDate },
            quantities: rows.map(\.quantity),
            offerTypes: rows.map(\.offerType),
            offerIdentifiers: rows.map(\.offerIdentifier),
            offerDiscountTypes: rows.map(\.offerDiscountType),
            offerPeriods: rows.map(\.offerPeriod),
            storefronts: rows.map(\.storefront),
            storefrontIDs: rows.map(\.storefrontID),
            transactionReasons: rows.map(\.transactionReason),
            currencies: rows.map(\.currency),
            prices: rows.map(\.price),
            appTransactionIDs: rows.map(\.appTransactionID),
            billingPlanTypes: rows.map { $0.payload?.billingPlanType?.rawValue },
            periodNos: rows.map(\.register.periodNumber),
            productTypes: rows.map { $0.register.productType?.rawValue },
            inAppOwnershipTypes: rows.map(\.inAppOwnershipType),
            subscriptionGroupIdentifiers: rows.map(\.subscriptionGroupIdentifier),
            isSubscription: rows.map(\.register.isSubscription),
            // For a charge without a JWS, the first token: later receipts do not change it.
            appAccountTokens: rows.map { row in
                row.constant({ OrderNumber.named(by: $0.payload.appAccountToken) }, { _ in row.register.firstToken?.token })
            },
            // Those of the half that states them; only a JWS has the extent of a refund, whichever half reports the refund.
            expiresDates: rows.dates { $0.state({ $0.payload.expiresDate }, { $0.expiresDate }) },
            revocationDates: rows.dates { $0.state({ $0.payload.revocationDate }, { $0.revocationDate }) },
            revocationReasons: rows.map { $0.state({ $0.payload.revocationReason?.rawValue }, { $0.revocationReason?.rawValue }) },
            isUpgraded: rows.map { $0.state({ $0.payload.isUpgraded }, { $0.isUpgraded }) },
            revocationTypes: rows.map { $0.payload?.revocationType?.rawValue },
            revocationPercentages: rows.map { $0.payload?.revocationPercentage },
            // The versions, the receipt half alone, and the columns that join by themselves.
            signedDates: rows.dates { $0.register.signed?.version.signedDate },
            payloadHashes: rows.map { $0.register.signed?.version.hash },
            receiptDates: rows.dates { $0.receipt?.version.signedDate },
            receiptHashes: rows.map { $0.receipt?.version.hash },
            receiptExpiresDates: rows.dates { $0.receipt?.content.expiresDate },
            receiptRevocationDates: rows.dates { $0.receipt?.content.revocationDate },
            receiptRevocationReasons: rows.map { $0.receipt?.content.revocationReason?.rawValue },
            receiptIsUpgraded: rows.map { $0.receipt?.content.isUpgraded },
            firstSignedDates: rows.dates { $0.register.firstSignedDate },
            firstTokens: rows.map { $0.register.firstToken?.token },
            firstTokenSignedDates: rows.dates { $0.firstTokenVersion?.signedDate },
            firstTokenHashes: rows.map { $0.firstTokenVersion?.hash },
            known: rows.map(\.known)
        )
    }
}

extension [TransactionRow] {
    fileprivate func dates(_ date: (TransactionRow) -> Timestamp?) -> [PostgresTimestamp?] {
        map { PostgresTimestamp(date($0)) }
    }
}
