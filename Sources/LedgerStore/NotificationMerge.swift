import AppStore
import Ledger
import Postgres
import SQL

/// Records the first event of each notification.
enum NotificationMerge {
    /// Returns environment, notification_uuid and first_event_id of the notifications that are new.
    static func insert(_ firsts: [(key: NotificationKey, eventID: Int64)]) -> Statement {
        .mergeNotifications(
            environments: firsts.map(\.key.environment.rawValue),
            notificationUUIDs: firsts.map(\.key.uuid),
            eventIDs: firsts.map(\.eventID)
        )
    }

    /// Returns the same of existing notifications. A later statement has a later snapshot: it sees the rows that the insert conflicted with.
    static func firsts(_ keys: [NotificationKey]) -> Statement {
        .findFirstEvents(environments: keys.map(\.environment.rawValue), notificationUUIDs: keys.map(\.uuid))
    }
}

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

/// Opens the calls that a batch's events ask for.
enum OutboundCallMerge {
    static func statement(_ calls: [OutboundCall]) -> Statement {
        .mergeOutboundCalls(
            kinds: calls.map(\.kind),
            callKeys: calls.map(\.key),
            bundleIDs: calls.map(\.bundleID),
            eventIDs: calls.map(\.eventID),
            fallbackSources: calls.map(\.fallback),
            secondsLeft: calls.map(\.timeLimit.components.seconds)
        )
    }
}
