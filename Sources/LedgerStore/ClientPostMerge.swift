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

/// Merges what Apple says of downloads of apps, and who posted it.
enum AppTransactionMerge {
    /// Returns event_id, has_changed and user_id of each event.
    static func statement(_ facts: [(fact: AppTransactionFact, eventID: Int64)]) -> Statement {
        let (apps, posts) = (facts.map(\.fact.app), facts.map(\.fact.post))
        return .mergeAppTransactions(
            eventIDs: facts.map(\.eventID),
            environments: facts.map(\.fact.key.environment.rawValue),
            appTransactionIDs: facts.map(\.fact.key.id),
            bundleIDs: facts.map(\.fact.bundleID),
            originalApplicationVersions: apps.map(\.originalApplicationVersion),
            applicationVersions: apps.map(\.applicationVersion),
            originalPurchaseDates: apps.map { PostgresTimestamp($0.originalPurchaseDate) },
            originalPlatforms: apps.map(\.originalPlatform?.rawValue),
            preorderDates: apps.map { PostgresTimestamp($0.preorderDate) },
            storeTypes: apps.map(\.storeType?.rawValue),
            revocationDates: apps.map { PostgresTimestamp($0.revocationDate) },
            signedDates: facts.map { PostgresTimestamp($0.fact.version.signedDate) },
            payloadHashes: facts.map(\.fact.version.hash),
            userIDs: posts.map { $0?.user },
            receivedAt: posts.map { PostgresTimestamp($0?.receivedAt) }
        )
    }
}

/// Records the types in posted receipts, and gives them to the transactions that come from Apple's answer.
enum PostedTypeMerge {
    static func statement(_ types: [(key: LedgerKey, value: ProductType)]) -> Statement {
        .mergePostedTypes(
            environments: types.map(\.key.environment.rawValue),
            transactionIDs: types.map(\.key.id),
            productTypes: types.map(\.value.rawValue)
        )
    }

    /// After the transactions are merged.
    static func application(_ keys: [LedgerKey]) -> Statement {
        .applyPostedTypes(environments: keys.map(\.environment.rawValue), transactionIDs: keys.map(\.id))
    }
}
