import Postgres
import SQL
import StrictJSON

/// Calls the repair functions of the schema, for one action and with one note.
struct RepairClient: Sendable {
    enum Action: String, Sendable {
        case requeue
        case discard
    }

    /// A named event that cannot be repaired, and why.
    struct Refusal: Error {
        let reason: String
    }

    /// How far a repair is.
    struct Progress: Sendable {
        /// running, done, stopped or failed.
        let state: String
        let repaired: Int
        /// Why it was stopped or failed, or why its last step was not taken.
        let error: String?
    }

    private let connection: Connection
    private let action: Action
    private let note: String?

    /// - Parameter note: for a discard the reason of the outcomes.
    init(connection: Connection, action: Action, note: String?) {
        (self.connection, self.action, self.note) = (connection, action, note)
    }

    /// All events that meet the conditions.
    func count(_ filter: JSONObject) async throws -> RepairCount {
        try await count(.countRepair(action: action.rawValue, filter: Self.json(filter)))
    }

    /// Those of these events that there are.
    func existing(_ events: [ClosedRange<Int64>]) async throws -> RepairCount {
        try await count(
            .repairCountNamed(first: events.map(\.lowerBound), last: events.map(\.upperBound))
        )
    }

    /// Repairs one event with any outcome.
    func repair(event: Int64) async throws(Refusal) {
        let done: Int64
        do {
            let statement: Statement =
                switch action {
                case .requeue: .requeueEvent(eventID: event, note: note)
                case .discard: .discardEvent(eventID: event, reason: note)
                }
            done = try await connection.query(statement).first?.decode(0) ?? 0
        } catch let error as PostgresError {
            throw Refusal(reason: error.message)
        } catch {
            throw Refusal(reason: "\(error)")
        }
        if done == 0 { throw Refusal(reason: "a worker or another repair holds it; try again in some seconds") }
    }

    /// Begins a repair and returns its number.
    func begin(_ filter: JSONObject, atMost events: Int) async throws -> Int64 {
        try await connection.query(
            .beginRepair(action: action.rawValue, filter: Self.json(filter), note: note, maxEvents: Int64(events))
        )[0].decode("repair_id")
    }

    /// Takes a step that is due and no worker takes. Returns the pause before the next one.
    func step() async throws -> Duration {
        .seconds(try await connection.query(.takeRepairStep()).first?.decode("pause", as: Double?.self) ?? 0)
    }

    func progress(of repair: Int64) async throws -> Progress {
        let row = try await connection.query(.repairRead(repairID: repair))[0]
        return Progress(
            state: try row.decode("state"),
            repaired: Int(try row.decode("repaired", as: Int64.self)),
            error: try row.decode("last_error")
        )
    }

    private func count(_ statement: Statement) async throws -> RepairCount {
        RepairCount(
            results: try await connection.query(statement).map { row in
                (try row.decode("result"), Int(try row.decode("events", as: Int64.self)))
            }
        )
    }

    private static func json(_ filter: JSONObject) -> JSONText {
        JSONText(JSONSerializer.text(filter))
    }
}

/// How many events a repair takes, by the result of their outcomes; those without one by their state.
struct RepairCount: Sendable {
    let results: [(name: String, events: Int)]

    var total: Int { results.reduce(0) { $0 + $1.events } }

    /// `30 rejected, 2 failed`.
    var words: String { results.map { "\($0.events) \($0.name)" }.joined(separator: ", ") }

    var json: JSONObject { JSONObject(results.map { ($0.name, .integer($0.events)) }) }
}
