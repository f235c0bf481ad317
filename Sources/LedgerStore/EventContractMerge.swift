import AppStore
import Ledger
import Postgres

/// How it is remembered which contracts an event is about, where there are several: its outcome has room for one.
enum EventContractMerge {
    static func statement(_ rows: [(contract: LedgerKey, eventID: Int64)]) -> Statement {
        """
        INSERT INTO appstore.event_contracts (environment, original_transaction_id, event_id)
        SELECT u.environment, u.original_transaction_id, u.event_id
        FROM unnest(\(rows.map(\.contract.environment.rawValue)), \(rows.map(\.contract.id)), \(rows.map(\.eventID)))
             AS u (environment, original_transaction_id, event_id)
        ORDER BY u.original_transaction_id, u.environment, u.event_id
        ON CONFLICT DO NOTHING
        """
    }
}
