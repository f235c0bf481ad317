import Postgres
import SQL

/// What the schema takes, how it grows, and what retention deletes.
extension DoctorCheck {
    @Sendable static func disk(_ context: DoctorContext) async throws -> [Finding] {
        let storage = try StorageStatistics(try await context.query(.storageStatistics())[0])
        let row = try await context.query(.doctorDisk())[0]
        let sizes = [storage.inboxBytes, storage.outcomeBytes, storage.ledgerBytes, storage.databaseBytes]
        let (events, rate): (Int64, Double) = (try row.decode("events"), try row.decode("events_a_day"))
        let growth = events == 0 ? 0 : Double(sizes[0] + sizes[1] + sizes[2]) / Double(events) * rate
        let words = sizes.map(bytes)
        return [
            .ok("size", "inbox \(words[0]), outcomes \(words[1]), ledger \(words[2]); the whole database \(words[3])"),
            .ok("growth", events == 0 ? "no events yet" : "\(Int64(rate.rounded())) events a day lately, some \(bytes(Int64(growth)))"),
            try partitions(row, rate), partitionCounts(storage.partitions), lastPartitions(storage.restBytes),
            try retention(row, growth, storage.databaseBytes),
        ]
    }

    private static func partitions(_ row: Row, _ rate: Double) throws -> Finding {
        let (count, room): (Int64, Int64) = (try row.decode("partitions"), try row.decode("room"))
        let remedy = "start a worker, which makes them; its log says why it could not"
        let found = "\(count), with room for \(room) events"
        return Double(room) < 2 * rate ? .warning("partitions", found, remedy) : .ok("partitions", found)
    }

    /// Without an event id a statement plans, and locks, each partition of a table.
    static func partitionCounts(_ partitions: [(parent: String, count: Int64)]) -> Finding {
        let found = partitions.map { "\($0.parent) \($0.count)" }.joined(separator: ", ")
        guard partitions.contains(where: { $0.count > 60 }) else { return .ok("partition counts", found) }
        return .warning(
            "partition counts",
            "\(found): more than 60 slow each statement that reads them all",
            "as appstore_operator, let them age, or raise partition_events: both are in appstore.retention"
        )
    }

    /// Those that have all later ids: they are empty while workers make partitions.
    static func lastPartitions(_ size: Int64) -> Finding {
        guard size > 100_000_000 else { return .ok("last partitions", size == 0 ? "empty" : bytes(size)) }
        return .warning(
            "last partitions",
            "\(bytes(size)): no worker has made partitions for the events that came",
            "keep a worker running: it makes a partition of them, or its log says why it cannot"
        )
    }

    private static func retention(_ row: Row, _ growth: Double, _ database: Int64) throws -> Finding {
        guard let bodies = try row.decode("bodies", as: String?.self) else {
            let found = "bodies are kept for ever, and add some \(bytes(Int64(growth))) a day with all that follows from them"
            guard database > largeDatabase else { return .ok("retention", found) }
            return .warning("retention", found, "as appstore_operator, UPDATE appstore.retention SET bodies = '90 days'")
        }
        let outcomes = try row.decode("outcomes", as: String?.self) ?? "for ever"
        let aged: Int64 = try row.decode("aged_bytes")
        return .ok(
            "retention",
            "bodies \(bodies), outcomes \(outcomes); dropping the partitions that are older frees \(bytes(aged)) now"
        )
    }

    /// Bytes of a database from which on its settings matter.
    private static let largeDatabase: Int64 = 10_000_000_000

    private static func bytes(_ count: Int64) -> String {
        for (unit, size) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] where Double(count) >= size {
            return "\((Double(count) / size * 10).rounded() / 10) \(unit)"
        }
        return "\(count) bytes"
    }
}

/// What the server may run out of, and the log that it writes without need. The thresholds are those of the alerts.
extension DoctorCheck {
    @Sendable static func limits(_ context: DoctorContext) async throws -> [Finding] {
        let storage = try StorageStatistics(try await context.query(StorageStatistics.statement)[0])
        let row = try await context.query(.doctorLimits())[0]
        let log = "\(bytes(try row.decode("max_wal_bytes"))), each \(try row.decode("checkpoint_timeout", as: String.self))"
        return [
            compression(try row.decode("wal_compression"), databaseBytes: storage.databaseBytes),
            checkpoints(timed: storage.checkpointsTimed, requested: storage.checkpointsRequested, log),
            locks(
                held: storage.locksHeld,
                slots: storage.lockSlots,
                ofStatement: try row.decode("locks_of_statement"),
                sessions: try row.decode("sessions")
            ),
            transactionIDs(
                databaseAge: storage.databaseAge,
                tableAge: storage.tableAge,
                oldestTable: storage.oldestTable,
                freezeMaxAge: storage.freezeMaxAge
            ),
        ]
    }

    /// Bodies are not compressed. What grows is the log of pages that are written whole, once after each checkpoint.
    static func compression(_ setting: String, databaseBytes: Int64) -> Finding {
        guard setting == "off" else { return .ok("wal_compression", setting) }
        guard databaseBytes > largeDatabase else { return .ok("wal_compression", "off, which matters in a large database") }
        return .warning(
            "wal_compression",
            "off: a third of the log of a large database are whole pages, which compress well",
            "set wal_compression = zstd in postgresql.conf, or lz4, or pglz where the server lacks both, and reload PostgreSQL"
        )
    }

    /// - Parameter log: max_wal_size and checkpoint_timeout, in words.
    static func checkpoints(timed: Int64, requested: Int64, _ log: String) -> Finding {
        let found = "\(timed) on time, \(requested) requested; max_wal_size and checkpoint_timeout: \(log)"
        // The first ones are those of an installation, a backup or a person.
        guard requested > timed, requested > 20 else { return .ok("checkpoints", found) }
        return .warning(
            "checkpoints",
            "\(found): the log fills max_wal_size early, and then has each page whole again",
            """
            raise max_wal_size until checkpoints come on time; then SELECT pg_stat_reset_shared('checkpointer'), or 'bgwriter' before \
            PostgreSQL 17
            """
        )
    }

    /// - Parameter ofStatement: the locks of one statement that reads all partitions of a table.
    static func locks(held: Int64, slots: Int64, ofStatement: Int64, sessions: Int64) -> Finding {
        let found = "\(held) of \(slots) in use; \(sessions) sessions may take \(ofStatement) each"
        guard 2 * held > slots || ofStatement * sessions > slots else { return .ok("lock slots", found) }
        return .warning(
            "lock slots",
            "\(found): statements fail with \"out of shared memory\" when none is left",
            "raise max_locks_per_transaction in postgresql.conf and restart PostgreSQL"
        )
    }

    static func transactionIDs(databaseAge: Int64, tableAge: Int64, oldestTable: String, freezeMaxAge: Int64) -> Finding {
        let age = max(databaseAge, tableAge)
        let found = "the oldest unfrozen row is \(databaseAge) transactions old, in appstore.\(oldestTable) \(tableAge)"
        guard Double(age) > 1.25 * Double(freezeMaxAge) else { return .ok("transaction ids", found) }
        let late = "\(found): autovacuum has not frozen it at \(freezeMaxAge)"
        let remedy = """
            end the session, prepared transaction or replication slot with the oldest snapshot; then, as a superuser, VACUUM (FREEZE) the \
            database, and see the server's log for why autovacuum did not
            """
        // PostgreSQL's vacuum_failsafe_age; at 2.1 billion the server refuses to write.
        return age > 1_600_000_000 ? .failure("transaction ids", late, remedy) : .warning("transaction ids", late, remedy)
    }
}
