import Postgres
import SQL

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
