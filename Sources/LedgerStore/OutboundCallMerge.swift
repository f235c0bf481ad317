import Ledger
import Postgres
import SQL

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
