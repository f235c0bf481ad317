import AppStore
import Ledger
import Postgres
import SQL

/// Records which user's app posted which transactions and receipts.
enum ClientPostMerge {
    static func statement(_ posts: [ClientPost]) -> Statement {
        let keys = posts.map(\.key)
        return Statement(
            .mergeClientPosts,
            [
                "environments": keys.map(\.contract.environment.rawValue),
                "original_transaction_ids": keys.map(\.contract.id),
                "user_ids": keys.map(\.user),
                "are_receipts": keys.map(\.isReceipt),
                "transaction_ids": keys.map(\.transactionID),
                "received_at": posts.map { PostgresTimestamp($0.receivedAt) },
                "event_ids": posts.map(\.eventID),
            ]
        )
    }

    /// Returns the keys with first_event_id and owner. The owner is null where the post names no transaction, or the transaction has no owner.
    /// Runs after orders and contracts are derived.
    static func find(_ keys: [ClientPost.Key]) -> Statement {
        Statement(
            .findClientPosts,
            [
                "environments": keys.map(\.contract.environment.rawValue),
                "original_transaction_ids": keys.map(\.contract.id),
                "user_ids": keys.map(\.user),
                "are_receipts": keys.map(\.isReceipt),
                "transaction_ids": keys.map(\.transactionID),
            ]
        )
    }
}
