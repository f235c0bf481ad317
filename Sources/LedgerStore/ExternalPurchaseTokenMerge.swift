import AppStore
import Ledger
import Postgres
import SQL

/// Merges what notifications say of tokens for purchases outside the App Store.
enum ExternalPurchaseTokenMerge {
    /// Returns the ids of the events that changed a row.
    static func statement(_ facts: [(fact: ExternalPurchaseTokenFact, eventID: Int64)]) -> Statement {
        let tokens = facts.map(\.fact.token)
        return .mergeExternalPurchaseTokens(
            eventIDs: facts.map(\.eventID),
            environments: facts.map(\.fact.key.environment.rawValue),
            externalPurchaseIDs: facts.map(\.fact.key.id),
            bundleIDs: facts.map(\.fact.bundleID),
            appAppleIDs: tokens.map(\.appAppleId),
            tokenTypes: tokens.map(\.tokenType?.rawValue),
            tokenCreationDates: tokens.map { PostgresTimestamp($0.tokenCreationDate) },
            tokenExpirationDates: tokens.map { PostgresTimestamp($0.tokenExpirationDate) },
            subtypes: facts.map(\.fact.subtype?.rawValue),
            signedDates: facts.map { PostgresTimestamp($0.fact.version.signedDate) },
            payloadHashes: facts.map(\.fact.version.hash)
        )
    }
}
