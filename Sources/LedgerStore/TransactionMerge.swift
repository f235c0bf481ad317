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
            environment: rows.map { $0.constant({ $0.key.environment.rawValue }, { $0.key.environment.rawValue }) },
            transactionID: rows.map { $0.constant({ $0.key.id }, { $0.key.id }) },
            originalTransactionID: rows.map { $0.constant({ $0.originalTransactionID }, { $0.originalTransactionID }) },
            webOrderLineItemID: rows.map { $0.constant({ $0.payload.webOrderLineItemId }, { $0.content.webOrderLineItemID }) },
            bundleID: rows.map { $0.constant({ $0.bundleID }, { $0.bundleID }) },
            productID: rows.map { $0.constant({ $0.productID }, { $0.productID }) },
            billingPlanType: rows.map { $0.payload?.billingPlanType?.rawValue },
            purchaseDate: rows.dates(\.purchaseDate),
            originalPurchaseDate: rows.dates { $0.originalPurchaseDate },
            quantity: rows.map(\.quantity),
            offerType: rows.map(\.offerType),
            offerIdentifier: rows.map(\.offerIdentifier),
            offerDiscountType: rows.map(\.offerDiscountType),
            offerPeriod: rows.map(\.offerPeriod),
            storefront: rows.map(\.storefront),
            storefrontID: rows.map(\.storefrontID),
            transactionReason: rows.map(\.transactionReason),
            currency: rows.map(\.currency),
            price: rows.map(\.price),
            appTransactionID: rows.map(\.appTransactionID),
            previousOriginalTransactionID: rows.map(\.previousOriginalTransactionID),
            productType: rows.map { $0.register.productType?.rawValue },
            inAppOwnershipType: rows.map(\.inAppOwnershipType),
            subscriptionGroupIdentifier: rows.map(\.subscriptionGroupIdentifier),
            // Those of the half that states them; only a JWS has the extent of a refund, whichever half reports the refund.
            expiresDate: rows.dates { $0.state({ $0.payload.expiresDate }, { $0.expiresDate }) },
            revocationDate: rows.dates { $0.state({ $0.payload.revocationDate }, { $0.revocationDate }) },
            revocationReason: rows.map { $0.state({ $0.payload.revocationReason?.rawValue }, { $0.revocationReason?.rawValue }) },
            isUpgraded: rows.map { $0.state({ $0.payload.isUpgraded }, { $0.isUpgraded }) },
            revocationType: rows.map { $0.payload?.revocationType?.rawValue },
            revocationPercentage: rows.map { $0.payload?.revocationPercentage },
            // The versions, the receipt half alone, and the columns that join by themselves.
            signedDate: rows.dates { $0.register.signed?.version.signedDate },
            payloadHash: rows.map { $0.register.signed?.version.hash },
            multiSeatInfo: rows.map { $0.payload?.multiSeatInfo?.document },
            commitmentInfo: rows.map { $0.payload?.commitmentInfo?.document },
            additionalTransactionReason: rows.map { $0.payload?.additionalTransactionReason?.rawValue },
            receiptDate: rows.dates { $0.receipt?.version.signedDate },
            receiptHash: rows.map { $0.receipt?.version.hash },
            receiptExpiresDate: rows.dates { $0.receipt?.content.expiresDate },
            receiptRevocationDate: rows.dates { $0.receipt?.content.revocationDate },
            receiptRevocationReason: rows.map { $0.receipt?.content.revocationReason?.rawValue },
            receiptIsUpgraded: rows.map { $0.receipt?.content.isUpgraded },
            periodNo: rows.map(\.register.periodNumber),
            isSubscription: rows.map(\.register.isSubscription),
            // For a charge without a JWS, the first token: later receipts do not change it.
            appAccountToken: rows.map { row in
                row.constant({ OrderNumber.named(by: $0.payload.appAccountToken) }, { _ in row.register.firstToken?.token })
            },
            firstSignedDate: rows.dates { $0.register.firstSignedDate },
            firstToken: rows.map { $0.register.firstToken?.token },
            firstTokenSignedDate: rows.dates { $0.firstTokenVersion?.signedDate },
            firstTokenHash: rows.map { $0.firstTokenVersion?.hash },
            known: rows.map(\.known)
        )
    }
}

extension [TransactionRow] {
    fileprivate func dates(_ date: (TransactionRow) -> Timestamp?) -> [PostgresTimestamp?] {
        map { PostgresTimestamp(date($0)) }
    }
}
