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

    let connection: Connection
    let action: Action
    /// For a discard: the reason of the outcomes.
    let note: String?

    /// The events that meet the conditions.
    func count(_ filter: JSONObject) async throws -> RepairCount {
        try await count(.repairCount(action: action.rawValue, filter: Self.json(filter)))
    }

    /// Those of these events that there are.
    func existing(_ events: [ClosedRange<Int64>]) async throws -> RepairCount {
        try await count(
            .repairCountNamed(first: events.map(\.lowerBound), last: events.map(\.upperBound))
        )
    }

    /// Repairs one event with any outcome.
    func repair(event: Int64) async throws(Refusal) {
        let done: Int
        do {
            done =
                switch action {
                case .requeue: try await number(.repairRequeueEvent(eventID: event, note: note))
                case .discard: try await number(.repairDiscardEvent(eventID: event, note: note))
                }
        } catch let error as PostgresError {
            throw Refusal(reason: error.message)
        } catch {
            throw Refusal(reason: "\(error)")
        }
        if done == 0 { throw Refusal(reason: "a worker or another repair holds it; try again in some seconds") }
    }

    /// Repairs up to 1,000 events in one transaction and returns their number.
    func repairAtOnce(_ filter: JSONObject) async throws -> Int {
        switch action {
        case .requeue:
            try await number(.repairRequeueEvents(note: note, filter: Self.json(filter)))
        case .discard:
            try await number(.repairDiscardEvents(note: note, filter: Self.json(filter)))
        }
    }

    /// Takes the next step of a repair of any number of events, in a transaction of its own.
    ///
    /// - Parameter progress: What the last step returned; nil for the first one.
    func step(_ filter: JSONObject, after progress: String?) async throws -> RepairStep {
        let rows = try await connection.query(
            .repairTakeStep(action: action.rawValue, filter: Self.json(filter), note: note, progress: progress)
        )
        let row = rows[rows.startIndex]
        return RepairStep(
            repaired: Int(try row.decode("events", as: Int64.self)),
            isDone: try row.decode("is_done"),
            pause: .seconds(try row.decode("pause", as: Double.self)),
            progress: try row.decode("progress")
        )
    }

    private func count(_ statement: Statement) async throws -> RepairCount {
        RepairCount(
            results: try await connection.query(statement).map { row in
                (try row.decode("result"), Int(try row.decode("events", as: Int64.self)))
            }
        )
    }

    private func number(_ statement: Statement) async throws -> Int {
        Int(try await connection.query(statement).first?.decode(0, as: Int64.self) ?? 0)
    }

    private static func json(_ filter: JSONObject) -> JSONText {
        JSONText(JSONSerializer.text(filter))
    }
}
