import AppStore
import Backfill
import Postgres
import SQL
import StrictJSON

/// The notification history in the database, of all apps or of the chosen ones.
struct HistoryRegister: Sendable {
    /// No worker reads the history of a chosen app.
    struct NothingRead: Error, CustomStringConvertible {
        let description = "no worker reads the history of such an app: it begins when a worker runs that has the app's key"
    }

    private let connection: Connection
    private let app: String?
    private let environment: String?

    /// - Parameters:
    ///   - app: nil for any.
    ///   - environment: nil for both.
    init(connection: Connection, app: String?, environment: String?) {
        (self.connection, self.app, self.environment) = (connection, app, environment)
    }

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

/// Until when the history of an app was read, and what it had.
struct HistoryCoverage: Sendable {
    let bundleID: String
    let environment: String
    let mode: String
    /// Nil while no window was read.
    private let from: Timestamp?
    private let to: Timestamp
    /// In seconds.
    private let age: Int64
    let since: Timestamp
    /// Nil while Apple has refused no start.
    private let edge: Timestamp?
    private let openWindows: Int64
    /// How many records have each class.
    private let counts: [(class: String, records: Int64)]
    /// Nil while nothing is confirmed.
    private let missedByBoth: Double?

    init(_ row: Row) throws {
        bundleID = try row.decode("bundle_id")
        environment = try row.decode("environment")
        mode = try row.decode("mode")
        from = try row.instant("covered_from")
        to = Timestamp(try row.decode("covered_to", as: PostgresTimestamp.self))
        age = try row.decode("age")
        since = Timestamp(try row.decode("since", as: PostgresTimestamp.self))
        edge = try row.instant("edge")
        openWindows = try row.decode("open_windows")
        counts = try HistoryStatistics.classes.map { ($0, try row.decode($0)) }
        missedByBoth = try row.decode("missed_by_both")
    }

    var json: JSONObject {
        [
            "bundleId": .string(bundleID), "environment": .string(environment), "mode": .string(mode), "coveredFrom": .instant(from),
            "coveredTo": .instant(to), "ageSeconds": .integer(age), "since": .instant(since), "edge": .instant(edge),
            "openWindows": .integer(openWindows), "records": .object(JSONObject(counts.map { ($0.class, .integer($0.records)) })),
            "missedByBoth": .optional(missedByBoth?.description),
        ]
    }

    var text: String {
        let covered = from.map { "\($0) to \(to), \(age) s ago" } ?? "nothing yet"
        var lines = ["\(bundleID.onOneLineSafely)  \(environment)  \(mode)", "    covered    \(covered)"]
        if openWindows > 0 { lines.append("    gaps       \(openWindows): appstore-inbox history gaps") }
        lines.append("    records    " + counts.map { "\($0.class) \($0.records)" }.joined(separator: ", "))
        if let missedByBoth { lines.append("    estimate   \(Int64(missedByBoth.rounded(.up))) missed by push and history") }
        return lines.joined(separator: "\n")
    }
}

/// A window of the history that is not complete.
struct HistoryGap: Sendable {
    private let id: Int64
    private let bundleID: String
    private let environment: String
    private let kind: String
    private let start: Timestamp
    private let end: Timestamp
    private let why: String
    /// Nil where it only waits.
    private let failingSince: Timestamp?
    private let failures: Int32
    private let restarts: Int32
    private let pages: Int32
    private let listed: Int32
    private let stored: Int32
    private let nextRun: Timestamp?

    init(_ row: Row) throws {
        id = try row.decode("window_id")
        bundleID = try row.decode("bundle_id")
        environment = try row.decode("environment")
        kind = try row.decode("kind")
        start = Timestamp(try row.decode("starts_at", as: PostgresTimestamp.self))
        end = Timestamp(try row.decode("ends_at", as: PostgresTimestamp.self))
        why = try row.decode("why")
        failingSince = try row.instant("failing_since")
        failures = try row.decode("failures")
        restarts = try row.decode("restarts")
        pages = try row.decode("pages")
        listed = try row.decode("listed")
        stored = try row.decode("stored")
        nextRun = try row.instant("next_run_at")
    }

    var json: JSONObject {
        [
            "window": .integer(id), "bundleId": .string(bundleID), "environment": .string(environment), "kind": .string(kind),
            "from": .instant(start), "to": .instant(end), "why": .string(why), "failingSince": .instant(failingSince),
            "failures": .integer(failures), "restarts": .integer(restarts), "pages": .integer(pages), "listed": .integer(listed),
            "stored": .integer(stored), "nextRunAt": .instant(nextRun),
        ]
    }

    /// The cells of a line.
    var cells: [String] {
        let failing = failingSince.map { "\($0)" } ?? ""
        return [bundleID.onOneLineSafely, environment, kind, "\(start)", "\(end)", "\(pages)", why.onOneLineSafely, failing]
    }

    static let head = ["APP", "ENVIRONMENT", "KIND", "FROM", "TO", "PAGES", "WHY", "FAILING SINCE"]
}

extension Row {
    fileprivate func instant(_ column: String) throws -> Timestamp? {
        try decode(column, as: PostgresTimestamp?.self).map { Timestamp($0) }
    }
}

extension JSONValue {
    fileprivate static func instant(_ timestamp: Timestamp?) -> JSONValue { .optional(timestamp?.description) }
}
