import Postgres
import PostgresTesting

/// A table lock that blocks `appstore.receive`.
struct TableLock {
    private let connection: Connection

    init(_ database: TestDatabase) async throws {
        connection = try await Connection.open(ConnectionOptions(database.url()), logger: .silent)
        try await connection.runScript("BEGIN; LOCK TABLE appstore.inbox IN SHARE MODE")
    }

    func release() async throws {
        try await connection.runScript("COMMIT")
        await connection.close()
    }
}

extension TestDatabase {
    /// Waits until `count` sessions of ingest wait for a lock.
    func awaitWaitingIngest(_ count: Int = 1) async throws {
        let connection = try await Connection.open(ConnectionOptions(url()), logger: .silent)
        while true {
            let waiting = try await connection.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename = 'appstore_ingest' AND wait_event_type = 'Lock'"
            )
            if waiting.count >= count { break }
        }
        await connection.close()
    }
}
