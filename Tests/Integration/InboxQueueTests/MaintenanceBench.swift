import Foundation
import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// A database with settled and waiting events, made by SQL.
enum MaintenanceBench {
    /// The number that an environment variable sets.
    static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

    /// A cluster with durable commits for a measurement by hand; without a number the one of the tests, whose flushes cost nothing.
    static func cluster(byHand number: Int?) async throws -> TestCluster {
        guard number != nil else { return .shared }
        return try await TestCluster.startPrivate(settings: ["fsync": "on", "autovacuum": "on", "shared_buffers": "128MB"])
    }

    /// A database with partitions of so many events from 1,000,000 on, whose bodies are kept for so long, or for ever.
    static func partitioned(events: Int = 1000, bodies: String? = "30 days") async throws -> TestDatabase {
        let database = try await InboxDatabase.make()
        let age = bodies.map { "'\($0)'" } ?? "NULL"
        try await execute(
            """
            UPDATE appstore.retention SET bodies = \(age), partition_events = \(events);
            SELECT setval('appstore.inbox_event_id', 999999);
            """,
            in: database
        )
        _ = try await finish(.preparePartitions, in: database)
        return database
    }

    /// Has the default partitions take the ids below 1,000,000, as if these partitions had been dropped.
    static func dropFirstPartitions(in database: TestDatabase) async throws {
        try await execute("DROP TABLE appstore.inbox_first, appstore.outcomes_first", in: database)
    }

    /// Events 1… of which each has an outcome, received and settled so long ago, with bodies of so many bytes.
    static func settled(
        _ count: Int,
        result: String,
        labels: Bool = true,
        age: String = "2 days",
        bodyBytes: Int = 1,
        in database: TestDatabase
    ) async throws {
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (source, received_at, body)
                    SELECT 'notification_v2', now() - interval '\(age)', convert_to(repeat('x', \(bodyBytes)), 'UTF8')
                    FROM generate_series(1, \(count)) RETURNING event_id, source, received_at
                )
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, bundle_id,
                                               notification_type)
                SELECT event_id, source, received_at, received_at, 1, 1, '\(result)', 'by_test',
                       \(labels ? "'com.example.app', 'TEST'" : "NULL, NULL")
                FROM stored;
                """
            )
        }
    }

    /// Notifications that were merged so many days ago.
    static func seen(_ count: Int, daysAgo: Int, in database: TestDatabase) async throws {
        try await execute(
            """
            INSERT INTO appstore.seen_notifications (environment, notification_uuid, seen_on, first_event_id)
            SELECT 'Production', gen_random_uuid(), (now() AT TIME ZONE 'UTC')::date - \(daysAgo), n FROM generate_series(1, \(count)) AS n
            """,
            in: database
        )
    }

    /// Takes one step as the worker, or as a role without timeouts.
    static func step(
        _ task: MaintenanceTask,
        as user: String = "appstore_worker",
        in database: TestDatabase
    ) async throws -> MaintenanceTask.Step? {
        try await database.withConnection(user: user) { try await task.step(on: $0) }
    }

    /// Takes steps until there is nothing to do, and returns them.
    static func finish(_ task: MaintenanceTask, in database: TestDatabase) async throws -> [MaintenanceTask.Step] {
        try await database.withConnection(user: "appstore_worker") { connection in
            var steps: [MaintenanceTask.Step] = []
            while let step = try await task.step(on: connection) {
                steps.append(step)
                if !step.hasMore { break }
            }
            return steps
        }
    }

    /// Makes and closes partitions until there is nothing to do, and returns what was done to which, without the settings of autovacuum.
    static func prepare(in database: TestDatabase) async throws -> [String] {
        try await finish(.preparePartitions, in: database).map(\.did).filter { !$0.hasPrefix("will freeze") }
    }

    /// Waits until a session waits for a lock of this database.
    static func awaitWaiting(_ database: TestDatabase) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        let question: Statement =
            "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while try await database.lines(question) == ["0"] {
            try #require(ContinuousClock.now < deadline, "no session waits")
        }
    }

    /// Waits until no session of a worker is left: a client hears of the end of its session before the server has released the locks.
    static func awaitEndOfWorkers(_ database: TestDatabase) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        let question: Statement =
            "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND usename = 'appstore_worker'"
        while try await database.lines(question) != ["0"] {
            try #require(ContinuousClock.now < deadline, "a session goes on")
        }
    }

    static func execute(_ script: String, in database: TestDatabase) async throws {
        try await database.withConnection { try await $0.runScript(script) }
    }

    static func asOperator(_ database: TestDatabase, _ statement: Statement) async throws -> Int64? {
        try await database.withConnection(user: "appstore_operator") { connection in
            try await connection.query(statement).first?.decode(0, as: Int64?.self)
        }
    }
}
