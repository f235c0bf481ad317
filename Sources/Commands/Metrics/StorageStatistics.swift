import Postgres
import SQL

/// What the database takes and what it may run out of, as `appstore.storage_statistics()` gives it: for metrics and for `doctor`.
struct StorageStatistics: Statistics {
    /// A table that is updated or deleted from without end. The numbers of rows are PostgreSQL's estimates.
    struct Table: Sendable {
        let name: String
        let liveRows: Int64
        let deadRows: Int64
    }

    let databaseBytes: Int64
    let inboxBytes: Int64
    let outcomeBytes: Int64
    let ledgerBytes: Int64
    /// Of the last partitions of inbox and outcomes, where they hold rows.
    let restBytes: Int64
    /// The partitions of each partitioned table.
    let partitions: [(parent: String, count: Int64)]
    let tables: [Table]
    /// The log that each replication slot keeps.
    let slots: [(name: String, bytes: Int64)]
    /// The age of the database's oldest row that is not frozen, in transactions.
    let databaseAge: Int64
    /// The table of the schemas with the oldest such row.
    let oldestTable: String
    let tableAge: Int64
    /// The age at which autovacuum freezes a table in any case.
    let freezeMaxAge: Int64
    let locksHeld: Int64
    let lockSlots: Int64
    let checkpointsTimed: Int64
    let checkpointsRequested: Int64

    /// For the roles worker, viewer and operator.
    static let statement = Statement.storageStatistics()

    init(_ row: Row) throws {
        databaseBytes = try row.decode("database_bytes")
        inboxBytes = try row.decode("inbox_bytes")
        outcomeBytes = try row.decode("outcome_bytes")
        ledgerBytes = try row.decode("ledger_bytes")
        restBytes = try row.decode("rest_bytes")
        partitions = Array(zip(try row.decode("parents", as: [String].self), try row.decode("partitions", as: [Int64].self)))
        let (live, dead): ([Int64], [Int64]) = (try row.decode("live_rows"), try row.decode("dead_rows"))
        tables = try row.decode("tables", as: [String].self).enumerated().map { index, name in
            Table(name: name, liveRows: live[index], deadRows: dead[index])
        }
        slots = Array(zip(try row.decode("slots", as: [String].self), try row.decode("slot_bytes", as: [Int64].self)))
        databaseAge = try row.decode("database_age")
        oldestTable = try row.decode("oldest_table")
        tableAge = try row.decode("table_age")
        freezeMaxAge = try row.decode("freeze_max_age")
        locksHeld = try row.decode("locks_held")
        lockSlots = try row.decode("lock_slots")
        checkpointsTimed = try row.decode("checkpoints_timed")
        checkpointsRequested = try row.decode("checkpoints_requested")
    }
}
