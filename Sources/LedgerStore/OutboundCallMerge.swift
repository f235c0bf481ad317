import Ledger
import Postgres
import SQL

/// Opens the calls that a batch's events ask for.
enum OutboundCallMerge {
    static func statement(_ calls: [OutboundCall]) -> Statement {
        Statement(
            .mergeOutboundCalls,
            [
                "kinds": calls.map(\.kind),
                "call_keys": calls.map(\.key),
                "bundle_ids": calls.map(\.bundleID),
                "event_ids": calls.map(\.eventID),
                "fallback_sources": calls.map(\.fallback),
                "seconds_left": calls.map(\.timeLimit.components.seconds),
            ]
        )
    }
}
