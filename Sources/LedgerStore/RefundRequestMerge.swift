import AppStore
import Ledger
import Postgres
import SQL

/// Records what Apple asked and decided about refunds; the statement orders copies as ``RefundRequestFact`` does.
enum RefundRequestMerge {
    static func statement(_ statements: [RefundRequestFact]) -> Statement {
        Statement(
            .mergeRefundRequests,
            [
                "environments": statements.map(\.key.environment.rawValue),
                "notification_uuids": statements.map(\.key.uuid),
                "kinds": statements.map(\.kind.rawValue),
                "transaction_ids": statements.map(\.transactionID),
                "original_transaction_ids": statements.map(\.originalTransactionID),
                "reasons": statements.map(\.reason),
                "signed_dates": statements.map { PostgresTimestamp($0.signedDate) },
                "are_advanced_commerce": statements.map(\.isAdvancedCommerce),
            ]
        )
    }

    /// Derives the open refund requests of these transactions of one environment, in the order of their ids.
    static func derivation(of transactionIDs: [String], in environment: AppStoreEnvironment) -> Statement {
        Statement(.deriveRefundRequestsOfBatch, ["environment": environment.rawValue, "transaction_ids": transactionIDs])
    }
}
