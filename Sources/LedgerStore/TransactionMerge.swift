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
            purchaseDates: rows.dates { $0.constant({ $0.purchaseDate }, { $0.purchaseDate }) },
            originalPurchaseDates: rows.dates { $0.constant({ $0.payload.originalPurchaseDate }, { $0.content.originalPurchaseDate }) },
            quantities: rows.map { $0.constant({ $0.payload.quantity }, { $0.content.quantity }) },
            offerTypes: rows.map { $0.constant({ $0.payload.offerType?.rawValue }, { $0.content.offerType?.rawValue }) },
            offerIdentifiers: rows.map { $0.constant({ $0.payload.offerIdentifier }, { $0.content.offerIdentifier }) },
            offerDiscountTypes: rows.map {
                $0.constant({ $0.payload.offerDiscountType?.rawValue }, { $0.content.offerDiscountType?.rawValue })
            },
            offerPeriods: rows.map { $0.payload?.offerPeriod },
            storefronts: rows.map { $0.payload?.storefront },
            storefrontIDs: rows.map { $0.payload?.storefrontId },
            transactionReasons: rows.map { $0.payload?.transactionReason?.rawValue },
            currencies: rows.map { $0.payload?.currency },
            prices: rows.map { $0.payload?.price },
            appTransactionIDs: rows.map { $0.payload?.appTransactionId },
            billingPlanTypes: rows.map { $0.payload?.billingPlanType?.rawValue },
            periodNos: rows.map { $0.constant({ $0.periodNumber }, { $0.periodNumber }) },
            // Those of the JWS half if there is one; else of any receipt that has them.
            productTypes: rows.map { $0.constant({ $0.payload.type?.rawValue }, gathered: { $0.productType?.rawValue }) },
            inAppOwnershipTypes: rows.map {
                $0.constant({ $0.payload.inAppOwnershipType?.rawValue }, gathered: { $0.inAppOwnershipType?.rawValue })
            },
            subscriptionGroupIdentifiers: rows.map {
                $0.constant({ $0.payload.subscriptionGroupIdentifier }, gathered: { $0.subscriptionGroupIdentifier })
            },
            isSubscription: rows.map { $0.constant({ $0.isSubscription }, gathered: { $0.isSubscription }) },
            // For a charge without a JWS, the first token: later receipts do not change it.
            appAccountTokens: rows.map { row in
                row.constant({ OrderNumber.named(by: $0.payload.appAccountToken) }, gathered: { _ in row.register.firstToken?.token })
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
            firstTokenHashes: rows.map { $0.firstTokenVersion?.hash }
        )
    }
}

extension [TransactionRow] {
    fileprivate func dates(_ date: (TransactionRow) -> Timestamp?) -> [PostgresTimestamp?] {
        map { PostgresTimestamp(date($0)) }
    }
}
