import AppStore
import Ledger
import Postgres
import SQL

/// Records what Apple asked and decided about refunds; the statement orders copies as ``RefundRequestFact`` does.
enum RefundRequestMerge {
    static func statement(_ statements: [RefundRequestFact]) -> Statement {
        .mergeRefundRequests(
            environments: statements.map(\.key.environment.rawValue),
            notificationUUIDs: statements.map(\.key.uuid),
            kinds: statements.map(\.kind.rawValue),
            transactionIDs: statements.map(\.transactionID),
            originalTransactionIDs: statements.map(\.originalTransactionID),
            reasons: statements.map(\.reason),
            signedDates: statements.map { PostgresTimestamp($0.signedDate) },
            areAdvancedCommerce: statements.map(\.isAdvancedCommerce)
        )
    }

    /// Derives the open refund requests of these transactions of one environment, in the order of their ids.
    static func derivation(of transactionIDs: [String], in environment: AppStoreEnvironment) -> Statement {
        .deriveRefundRequests(environment: environment.rawValue, transactionIDs: transactionIDs)
    }
}
