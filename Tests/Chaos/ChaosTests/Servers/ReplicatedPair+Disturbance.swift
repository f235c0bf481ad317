import EndToEndTesting
import Postgres
import PostgresTesting
import TemporaryPostgres

/// Faults of a server's sessions.
extension ReplicatedPair {
    /// Terminates the sessions of all daemons; returns how many there were.
    func terminateSessions() async throws -> Int {
        try await sql.value(
            Int.self,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename IN (\(ChaosInstallation.ingestRole), \(ChaosInstallation.workerRole))"
        )
    }

    /// Opens every connection that the server allows and terminates the daemons' sessions; closes the connections after the duration.
    ///
    /// - Returns: how many connections were taken.
    func takeAllSlots(for duration: Duration) async throws -> Int {
        let options = try ConnectionOptions(primary.url(database: "postgres", user: "appstore_viewer"))
        var taken: [Connection] = []
        // Twice, to take the connections that the daemons lose in between.
        for _ in 0..<2 {
            taken += try await Self.connections(options)
            _ = try await terminateSessions()
        }
        taken += try await Self.connections(options)
        let result = await Result { try await pause(duration) }
        for connection in taken { await connection.close() }
        try result.get()
        return taken.count
    }

    /// Cancels, repeatedly for a while, the commits that wait for the standby: they are then committed on the primary alone.
    ///
    /// - Returns: the number of cancellations.
    func cancelWaitingCommits() async throws -> Int {
        var cancelled = 0
        let deadline = Deadline(within: .milliseconds(1500))
        while !deadline.hasPassed {
            cancelled += try await sql.value(
                Int.self,
                "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            )
            try await pause(.milliseconds(100))
        }
        return cancelled
    }

    /// Opens connections until the server refuses one. libpq reports no SQLSTATE for that error.
    private static func connections(_ options: ConnectionOptions) async throws -> [Connection] {
        var connections: [Connection] = []
        while true {
            do {
                connections.append(try await Connection.open(options, logger: .silent))
            } catch let error as PostgresError where error.code == .connectionFailed {
                return connections
            }
        }
    }
}
