import AppStore
import Ledger
import Postgres
import SQL

/// How a batch records what Apple asked and decided about refunds; the statement orders copies as ``RefundStatement`` does.
enum RefundStatementMerge {
    /// Merges what was said.
    static func statement(_ statements: [RefundStatement]) -> Statement {
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
            ]
        )
    }

    /// Derives what Apple waits for about these transactions of one environment, in the order of their ids.
    static func derivation(of transactionIDs: [String], in environment: AppStoreEnvironment) -> Statement {
        Statement(.deriveRefundRequestsOfBatch, ["environment": environment.rawValue, "transaction_ids": transactionIDs])
    }
}
