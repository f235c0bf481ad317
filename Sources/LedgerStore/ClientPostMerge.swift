import AppStore
import Ledger
import Postgres
import SQL

/// Records which user's app posted which transactions and receipts.
enum ClientPostMerge {
    static func statement(_ posts: [ClientPost]) -> Statement {
        let keys = posts.map(\.key)
        return .mergeClientPosts(
            environments: keys.map(\.contract.environment.rawValue),
            originalTransactionIDs: keys.map(\.contract.id),
            userIDs: keys.map(\.user),
            areReceipts: keys.map(\.isReceipt),
            transactionIDs: keys.map(\.transactionID),
            receivedAt: posts.map { PostgresTimestamp($0.receivedAt) },
            eventIDs: posts.map(\.eventID)
        )
    }

    /// Returns the keys with first_event_id, owner and was_forgotten. The owner is null where the post names no transaction, or the transaction
    /// has no owner.
    /// Runs after orders and contracts are derived.
    static func find(_ keys: [ClientPost.Key]) -> Statement {
        .findClientPosts(
            environments: keys.map(\.contract.environment.rawValue),
            originalTransactionIDs: keys.map(\.contract.id),
            userIDs: keys.map(\.user),
            areReceipts: keys.map(\.isReceipt),
            transactionIDs: keys.map(\.transactionID)
        )
    }
}
