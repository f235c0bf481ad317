import EndToEndTesting
import Postgres
import PostgresTesting
import PrivateCluster

/// What others do to a server's sessions.
extension ReplicatedPair {
    /// Ends the sessions of all daemons; says how many there were.
    func terminateSessions() async throws -> Int {
        try await books.value(
            Int.self,
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename IN (\(Site.ingestRole), \(Site.workerRole))"
        )
    }

    /// Takes every connection that the server has to give, and throws the daemons out of theirs; lets go after that time.
    ///
    /// - Returns: how many connections were taken.
    func takeAllSlots(for duration: Duration) async throws -> Int {
        let options = try ConnectionOptions(primary.url(database: "postgres", user: "appstore_viewer"))
        var taken: [Connection] = []
        // Twice: what the daemons lose in between is taken, too.
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

    /// Waits for commits that wait for the standby, and cancels their waiting over and over for a while: they are done here and nowhere else.
    ///
    /// - Returns: how often.
    func cancelWaitingCommits() async throws -> Int {
        var cancelled = 0
        let deadline = Deadline(within: .milliseconds(1500))
        while !deadline.hasPassed {
            cancelled += try await books.value(
                Int.self,
                "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            )
            try await pause(.milliseconds(100))
        }
        return cancelled
    }

    /// As many as the server still has: the next one is refused, for which libpq knows no condition code.
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
