import AppStore
import Ledger
import Postgres
import SQL

/// Records the contracts of events that are about more than one.
enum EventContractMerge {
    static func statement(_ rows: [(contract: LedgerKey, eventID: Int64)]) -> Statement {
        .mergeEventContracts(
            environments: rows.map(\.contract.environment.rawValue),
            originalTransactionIDs: rows.map(\.contract.id),
            eventIDs: rows.map(\.eventID)
        )
    }
}
