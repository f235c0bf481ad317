import AppStore
import Outbox
package import Postgres
import SQL

/// Runs the statements of the history. Those that name a window name its lease, and change nothing when another one has begun.
struct HistoryStore: Sendable {
    let pool: ConnectionPool
    let leaseSeconds: Int

    /// Makes the windows that are due.
    func plan(_ lanes: [CallLane]) async throws {
        _ = try await pool.query(.planHistory(bundleIDs: lanes.map(\.bundleID), environments: Self.environments(lanes)))
    }

    func lease(_ lanes: [CallLane], near: Int, days: Int) async throws -> [HistoryWindow] {
        let statement = Statement.leaseHistoryWindows(
            bundleIDs: lanes.map(\.bundleID),
            environments: Self.environments(lanes),
            near: Int32(near),
            days: Int32(days),
            seconds: Int32(leaseSeconds)
        )
        return try await pool.query(statement).map(HistoryWindow.init)
    }

    /// Stores a page and renews the lease. Returns how many events it became, nil when the lease is over: another one has begun, or the
    /// mode is off.
    func store(_ page: HistoryPage, of window: HistoryWindow) async throws -> Int? {
        let records = page.records
        let dates = { (date: (HistoryRecord) -> Timestamp?) in
            records.map { date($0).map { PostgresTimestamp(millisecondsSince1970: $0.millisecondsSince1970) } }
        }
        let statement = Statement.storeHistoryPage(
            windowID: window.id,
            epoch: window.epoch,
            seconds: Int32(leaseSeconds),
            token: page.token,
            uuids: records.map(\.uuid),
            signedAt: dates(\.signedAt),
            firstAttemptAt: dates(\.firstAttempt),
            lastAttemptAt: dates(\.lastAttempt),
            attempts: records.map { Int32(clamping: $0.attempts) },
            lastResults: records.map(\.lastResult),
            succeeded: records.map(\.succeeded),
            bodies: records.map(\.eventBody)
        )
        return try await pool.query(statement)[0].decode(0, as: Int32?.self).map { Int($0) }
    }

    /// Ends a lease without a page.
    ///
    /// - Parameter counts: whether it is a failure of the window.
    func postpone(_ window: HistoryWindow, reason: String?, for delay: Duration, counts: Bool) async throws {
        _ = try await pool.query(
            .postponeHistoryWindow(windowID: window.id, epoch: window.epoch, reason: reason, delay: delay, counts: counts)
        )
    }

    /// Lets a window begin again with its first page; too often, and it is halved. The lease goes on.
    func restart(_ window: HistoryWindow) async throws {
        _ = try await pool.query(.restartHistoryWindow(windowID: window.id, epoch: window.epoch))
    }

    /// Moves the start of a window forward by an hour. Returns the new start, nil when another lease has begun.
    func advance(_ window: HistoryWindow) async throws -> Timestamp? {
        let row = try await pool.query(.advanceHistoryWindow(windowID: window.id, epoch: window.epoch))[0]
        return try row.decode(0, as: PostgresTimestamp?.self).map { Timestamp(millisecondsSince1970: $0.millisecondsSince1970) }
    }

    /// Compares what was pushed with a second walk. Returns whether it is done, nil when another lease has begun.
    func compare(_ window: HistoryWindow) async throws -> Bool? {
        let statement = Statement.compareHistoryWindow(windowID: window.id, epoch: window.epoch, seconds: Int32(leaseSeconds))
        return try await pool.query(statement)[0].decode(0, as: Bool?.self)
    }

    /// Gives records their class whose event has an outcome.
    func classify() async throws {
        var after: Int64? = 0
        while let next = after {
            after = try await pool.query(.classifyHistory(after: next))[0].decode(0, as: Int64?.self)
        }
    }

    private static func environments(_ lanes: [CallLane]) -> [String] { lanes.map(\.environment.rawValue) }
}

extension HistoryWindow {
    init(_ row: Row) throws {
        let kind: String = try row.decode("kind")
        let (start, end): (PostgresTimestamp, PostgresTimestamp) = (try row.decode("starts_at"), try row.decode("ends_at"))
        self.init(
            id: try row.decode("window_id"),
            epoch: try row.decode("epoch"),
            lane: CallLane(try row.decode("bundle_id"), AppStoreEnvironment(rawValue: try row.decode("environment"))),
            isNear: kind == "near",
            start: Timestamp(millisecondsSince1970: start.millisecondsSince1970),
            end: Timestamp(millisecondsSince1970: end.millisecondsSince1970),
            token: try row.decode("token"),
            isRead: try row.decode("is_read"),
            isSecond: kind == "second",
            failures: Int(try row.decode("failures", as: Int32.self))
        )
    }
}

/// How far the history is read, and its records by class, of all workers.
package struct HistoryStatistics: Hashable, Statistics {
    package struct Environment: Hashable, Sendable {
        package let name: String
        /// Since the end of the time that was read without a hole; of the app that is behind most.
        package let coveredAge: Double
        /// For how long a window has failed; 0 where none fails.
        package let failing: Double
    }

    package struct Count: Hashable, Sendable {
        package let environment: String
        package let mode: String
        package let `class`: String
        package let records: Int64
    }

    /// What a record can be.
    package static let classes = ["confirmed", "recovered", "taken_elsewhere", "refused_here", "in_flight", "unlisted"]

    package let environments: [Environment]
    package let counts: [Count]

    /// For the role worker.
    package static let statement = Statement.historyStatistics()

    package init(_ row: Row) throws {
        let names: [String] = try row.decode("environments", as: [String]?.self) ?? []
        let ages: [Double] = try row.decode("covered_ages", as: [Double]?.self) ?? []
        let failing: [Double] = try row.decode("failing", as: [Double]?.self) ?? []
        environments = names.indices.map { Environment(name: names[$0], coveredAge: max(0, ages[$0]), failing: max(0, failing[$0])) }
        let counted: [String] = try row.decode("counted_environments", as: [String]?.self) ?? []
        let modes: [String] = try row.decode("modes", as: [String]?.self) ?? []
        let classes: [String] = try row.decode("classes", as: [String]?.self) ?? []
        let records: [Int64] = try row.decode("records", as: [Int64]?.self) ?? []
        counts = counted.indices.map { Count(environment: counted[$0], mode: modes[$0], class: classes[$0], records: records[$0]) }
    }
}
