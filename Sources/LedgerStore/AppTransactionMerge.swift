import AppStore
import Ledger
import Postgres
import SQL

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
