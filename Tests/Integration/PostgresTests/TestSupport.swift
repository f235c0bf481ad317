import Postgres
import PostgresTesting

/// Lends a connection to a new database.
func withConnection<T: Sendable>(
    adjusting adjust: (inout ConnectionOptions) -> Void = { _ in },
    _ body: (Connection, TestDatabase) async throws -> T
) async throws -> T {
    try await TestCluster.shared.withDatabase { database in
        let connection = try await connect(database, adjusting: adjust)
        let value = try await body(connection, database)
        await connection.close()
        return value
    }
}

func connect(_ database: TestDatabase, adjusting adjust: (inout ConnectionOptions) -> Void = { _ in }) async throws -> Connection {
    var options = try ConnectionOptions(database.url())
    adjust(&options)
    return try await Connection.open(options, logger: .silent)
}

/// Returns the `PostgresError` that `body` throws; fails otherwise.
func postgresError(_ body: () async throws -> some Sendable) async throws -> PostgresError {
    do {
        let value = try await body()
        throw UnexpectedSuccess(value: "\(value)")
    } catch let error as PostgresError {
        return error
    }
}

struct UnexpectedSuccess: Error {
    let value: String
}

/// Waits until a condition holds, for at most `limit`.
func eventually(_ what: String, within limit: Duration = .seconds(10), _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw DeadlineExceeded(what: what) }
        await Task.yield()
    }
}

struct DeadlineExceeded: Error {
    let what: String
}

extension Connection {
    /// The process id of this connection's backend.
    func backend() async throws -> Int32 {
        try await query("SELECT pg_backend_pid()")[0].decode(0)
    }

    /// Waits until a backend is in that wait event, such as `PgSleep`.
    func awaitBackend(_ pid: Int32, in event: String) async throws {
        try await eventually("backend in \(event)") {
            try await query("SELECT 1 FROM pg_stat_activity WHERE pid = \(pid) AND wait_event = \(event)").count == 1
        }
    }

    /// Waits until a backend has ended.
    func awaitEnd(of pid: Int32) async throws {
        try await eventually("end of backend") {
            try await query("SELECT 1 FROM pg_stat_activity WHERE pid = \(pid)").isEmpty
        }
    }
}
