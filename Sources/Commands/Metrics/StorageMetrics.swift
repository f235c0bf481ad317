import Postgres
import SQL
import ServiceSupport

/// What the database takes and what it may run out of, as `appstore.storage_statistics()` gives it: for metrics and for `doctor`.
struct StorageStatistics: Statistics {
    /// A table that is updated or deleted from without end. The numbers of rows are PostgreSQL's estimates.
    private struct Table: Sendable {
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
    private let tables: [Table]
    /// The log that each replication slot keeps.
    private let slots: [(name: String, bytes: Int64)]
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

extension MetricCatalogue {
    /// What the database takes and what it may run out of. All workers show the same database, as of their own last query, once a minute.
    static let storage = StorageStatistics.metrics.map(\.description)
}

private typealias Gauge = CollectedMetric<StorageStatistics>

extension StorageStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        Gauge("database_bytes", "The database on the disk, with tables that are not of this program.") { Double($0.databaseBytes) },
        .each(
            "schema_bytes",
            "Tables with their indexes, by part: inbox (bodies), outcomes, or ledger (everything else of this program)."
        ) { reading in
            let numbers = reading.numbers
            return [("inbox", numbers.inboxBytes), ("outcomes", numbers.outcomeBytes), ("ledger", numbers.ledgerBytes)].map {
                MetricRegistry.Sample([("part", $0)], Double($1))
            }
        },
        Gauge("rest_partition_bytes", "The last partitions, which have all later ids, with indexes; 0 while they hold no row.") {
            Double($0.restBytes)
        },
        .each("table_live_rows", "PostgreSQL's estimate of the rows of tables that change without end, by table.") {
            $0.numbers.tables.map { MetricRegistry.Sample([("table", $0.name)], Double($0.liveRows)) }
        },
        .each("table_dead_rows", "PostgreSQL's estimate of the dead rows of these tables, which vacuum removes, by table.") {
            $0.numbers.tables.map { MetricRegistry.Sample([("table", $0.name)], Double($0.deadRows)) }
        },
        .each("replication_slot_bytes", "The log (WAL) that each replication slot keeps on the disk, by slot.") {
            $0.numbers.slots.map { MetricRegistry.Sample([("slot", $0.name)], Double($0.bytes)) }
        },
        Gauge("database_age_transactions", "The age, in transactions, of the oldest row of the database that is not frozen.") {
            Double($0.databaseAge)
        },
        Gauge("oldest_table_age_transactions", "The same of this program's tables.") { Double($0.tableAge) },
        Gauge("freeze_max_age_transactions", "The age at which autovacuum freezes a table in any case: autovacuum_freeze_max_age.") {
            Double($0.freezeMaxAge)
        },
        Gauge("locks_held", "Locks of all sessions in the server's shared table of locks.") { Double($0.locksHeld) },
        Gauge(
            "lock_slots",
            "Locks for which this table has room: max_locks_per_transaction times the sum of max_connections and max_prepared_transactions."
        ) { Double($0.lockSlots) },
        .each(
            "checkpoints_total",
            "Checkpoints of the server by cause: timed (checkpoint_timeout was over), or requested (the log had filled max_wal_size, or a "
                + "command asked for one).",
            .counter
        ) { reading in
            [("timed", reading.numbers.checkpointsTimed), ("requested", reading.numbers.checkpointsRequested)].map {
                MetricRegistry.Sample([("cause", $0)], Double($1))
            }
        },
    ]
}
