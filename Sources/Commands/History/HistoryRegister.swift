import Postgres
import SQL

/// The notification history in the database, of all apps or of the chosen ones.
struct HistoryRegister: Sendable {
    /// No worker reads the history of a chosen app.
    struct NothingRead: Error, CustomStringConvertible {
        let description = "no worker reads the history of such an app: it begins when a worker runs that has the app's key"
    }

    let connection: Connection
    /// Nil for any.
    let app: String?
    /// Nil for both.
    let environment: String?

    /// By app and environment.
    func coverage() async throws -> [HistoryCoverage] {
        let statement = Statement.historyReadCoverage(bundleID: app, environment: environment)
        return try await connection.query(statement).map(HistoryCoverage.init)
    }

    /// Those that have failed longest first.
    func gaps(most: Int) async throws -> [HistoryGap] {
        let statement = Statement.historyReadGaps(bundleID: app, environment: environment, most: Int32(clamping: most))
        return try await connection.query(statement).map(HistoryGap.init)
    }

    /// Reads from an earlier day on, where the database refuses it for none. Returns each app with the number of windows to read.
    ///
    /// - Throws: ``NothingRead``.
    func walk(since instant: PostgresTimestamp) async throws -> [(app: HistoryCoverage, windows: Int32)] {
        let apps = try await chosen()
        let statements = apps.map { app in
            Statement.walkHistory(bundleID: app.bundleID, environment: app.environment, since: instant)
        }
        let walked = try await connection.withTransaction { try await $0.pipeline(statements) }
        return try zip(apps, walked).map { ($0, try $1[0].decode(0)) }
    }

    /// Sets the mode of the chosen apps, and returns them.
    ///
    /// - Throws: ``NothingRead``.
    func setMode(_ mode: String) async throws -> [HistoryCoverage] {
        for app in try await chosen() {
            let statement = Statement.setHistoryMode(bundleID: app.bundleID, environment: app.environment, mode: mode)
            _ = try await connection.query(statement)
        }
        return try await coverage()
    }

    private func chosen() async throws -> [HistoryCoverage] {
        let apps = try await coverage()
        guard !apps.isEmpty else { throw NothingRead() }
        return apps
    }
}
