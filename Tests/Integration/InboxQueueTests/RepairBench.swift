import InboxTesting
import Postgres
import PostgresTesting
import SQL

/// A repair in steps, as the command line takes them.
enum RepairBench {
    /// What a step returned.
    struct Step: Sendable {
        let events: Int64
        let isDone: Bool
        let pause: Double
        let progress: String
    }

    static func statement(_ action: String, _ filter: String, after progress: String? = nil) -> Statement {
        .repairTakeStep(action: action, filter: JSONText(filter), note: "by test", progress: progress)
    }

    /// Takes the step that follows this progress and commits it.
    static func step(
        _ action: String = "requeue",
        _ filter: String = #"{"result": "failed"}"#,
        after progress: String? = nil,
        as user: String = "appstore_operator",
        in database: TestDatabase
    ) async throws -> Step {
        try await database.withConnection(user: user) { try await step(action, filter, after: progress, on: $0) }
    }

    static func step(_ action: String, _ filter: String, after progress: String?, on connection: Connection) async throws -> Step {
        let row = try await connection.query(statement(action, filter, after: progress))[0]
        return Step(
            events: try row.decode("events"),
            isDone: try row.decode("is_done"),
            pause: try row.decode("pause"),
            progress: try row.decode("progress")
        )
    }

    /// Takes all steps that follow this progress, and returns how many events were repaired after each. No requeued event becomes due.
    static func finish(
        _ action: String = "requeue",
        _ filter: String = #"{"result": "failed"}"#,
        after progress: String? = nil,
        in database: TestDatabase
    ) async throws -> [Int64] {
        var (events, progress): ([Int64], String?) = ([], progress)
        while true {
            try await delay(database)
            let step = try await step(action, filter, after: progress, in: database)
            events.append(step.events)
            if step.isDone { return events }
            progress = step.progress
        }
    }

    /// Sets the time of all events that wait to tomorrow, so that no step has to wait for them.
    static func delay(_ database: TestDatabase) async throws {
        try await MaintenanceBench.execute("UPDATE appstore.inbox_queue SET run_at = now() + interval '1 day'", in: database)
    }

    /// Settles all events that wait.
    static func settle(_ result: String, in database: TestDatabase) async throws {
        try await MaintenanceBench.execute(
            """
            WITH gone AS (DELETE FROM appstore.inbox_queue RETURNING event_id, run)
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
            SELECT gone.event_id, 'notification_v2', now(), clock_timestamp(), gone.run, 1, '\(result)', 'again' FROM gone
            """,
            in: database
        )
    }
}
