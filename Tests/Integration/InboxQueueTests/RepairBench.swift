import InboxTesting
import Postgres
import PostgresTesting
import SQL

/// Repairs as operators begin them, whose steps a test takes in place of a worker.
enum RepairBench {
    static let failed = #"{"result": "failed"}"#

    /// How the latest repair stands after a step.
    struct Step: Sendable {
        let state: String
        let repaired: Int64
        let error: String?
        /// In how many seconds the next step is due; nil while no repair is running.
        let pause: Double?
    }

    /// Begins a repair and returns its number; nil where no event meets the conditions.
    @discardableResult
    static func begin(
        _ action: String = "requeue",
        _ filter: String = failed,
        as user: String = "appstore_operator",
        in database: TestDatabase
    ) async throws -> Int64? {
        return try await database.withConnection(user: user) { connection in
            try await connection.query(
                .beginRepair(action: action, filter: JSONText(filter), note: "by test")
            ).first?.decode("repair_id", as: Int64?.self)
        }
    }

    /// Takes the next step at once and commits it.
    static func step(as user: String = "appstore_worker", in database: TestDatabase) async throws -> Step {
        try await makeDue(database)
        return try await database.withConnection(user: user) { connection in
            let pause = try await step(on: connection)
            return try await latest(pause, in: database)
        }
    }

    /// Takes the step that is due. Returns in how many seconds the next one is.
    static func step(on connection: Connection) async throws -> Double? {
        try await connection.query(.takeRepairStep())[0].decode("pause")
    }

    static func makeDue(_ database: TestDatabase) async throws {
        try await MaintenanceBench.execute("UPDATE appstore.repairs SET run_at = now() WHERE state = 'running'", in: database)
    }

    private static func latest(_ pause: Double?, in database: TestDatabase) async throws -> Step {
        try await database.withConnection { connection in
            let row = try await connection.query(
                "SELECT state, repaired, last_error FROM appstore.repair_status ORDER BY repair_id DESC LIMIT 1"
            )[0]
            return Step(
                state: try row.decode("state"),
                repaired: try row.decode("repaired"),
                error: try row.decode("last_error"),
                pause: pause
            )
        }
    }

    /// Takes all steps, and returns how many events the latest repair had repaired after each. No requeued event becomes due.
    static func finish(in database: TestDatabase) async throws -> [Int64] {
        var events: [Int64] = []
        while true {
            try await delay(database)
            let step = try await step(in: database)
            events.append(step.repaired)
            if step.pause == nil { return events }
        }
    }

    /// Carries out a call of `appstore.requeue` or `appstore.discard` by an operator, and returns how many events were repaired.
    static func repair(_ call: String, in database: TestDatabase) async throws -> Int64 {
        let repair = try await MaintenanceBench.asOperator(database, "SELECT repair_id FROM appstore.\(unsafeRaw: call)")
        return repair == nil ? 0 : try await finish(in: database).last ?? 0
    }

    /// Makes such a call, of which no step is taken, and returns how many events it counts.
    static func count(_ call: String, in database: TestDatabase) async throws -> Int64? {
        try await MaintenanceBench.asOperator(database, "SELECT events FROM appstore.\(unsafeRaw: call)")
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
