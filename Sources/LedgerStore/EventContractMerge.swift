import AppStore
import Ledger
import Postgres
import SQL

/// Records the contracts of events that are about more than one.
enum EventContractMerge {
    static func statement(_ rows: [(contract: LedgerKey, eventID: Int64)]) -> Statement {
        Statement(
            .mergeEventContracts,
            [
                "environments": rows.map(\.contract.environment.rawValue),
                "original_transaction_ids": rows.map(\.contract.id),
                "event_ids": rows.map(\.eventID),
            ]
        )
    }
}
