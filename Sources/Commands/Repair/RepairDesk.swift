import AppStore
import Postgres

/// The repairs that SQL offers, for one action and with one note.
struct RepairDesk: Sendable {
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
    /// Of a discard: the reason.
    let note: String?

    /// How many events the conditions fit now.
    func count(_ filter: JSONObject) async throws -> Int {
        try await number("SELECT appstore.count_repair(\(action.rawValue), \(Self.text(filter))::text::jsonb)")
    }

    /// How many of these events there are.
    func existing(_ events: [ClosedRange<Int64>]) async throws -> Int {
        try await number(
            """
            SELECT count(DISTINCT s.event_id)
            FROM unnest(\(events.map(\.lowerBound)), \(events.map(\.upperBound))) AS named (first, last)
            JOIN appstore.inbox_status AS s ON s.event_id BETWEEN named.first AND named.last
            """
        )
    }

    /// Repairs one event, whatever became of it.
    func repair(event: Int64) async throws(Refusal) {
        let done: Int
        do {
            done =
                switch action {
                case .requeue: try await number("SELECT appstore.requeue(\(event), \(note))")
                case .discard: try await number("SELECT 1::bigint FROM appstore.discard(\(event), \(note))")
                }
        } catch let error as PostgresError {
            throw Refusal(reason: error.message)
        } catch {
            throw Refusal(reason: "\(error)")
        }
        if done == 0 { throw Refusal(reason: "a worker has it in its hands, or its body has been dropped") }
    }

    /// Repairs up to 1,000 events in one transaction and says how many there were.
    func repairAtOnce(_ filter: JSONObject) async throws -> Int {
        switch action {
        case .requeue:
            try await number(
                """
                SELECT appstore.requeue(f.outcome, f.reason, f.notification_type, f.subtype, f.environment, f.bundle_id, f.received_from,
                                        f.received_before, note => \(note))
                FROM jsonb_populate_record(NULL::appstore.repair_filter, \(Self.text(filter))::text::jsonb) AS f
                """
            )
        case .discard:
            try await number(
                """
                SELECT appstore.discard(\(note), f.outcome, f.reason, f.notification_type, f.subtype, f.environment, f.bundle_id,
                                        f.received_from, f.received_before)
                FROM jsonb_populate_record(NULL::appstore.repair_filter, \(Self.text(filter))::text::jsonb) AS f
                """
            )
        }
    }

    /// Writes a request for the workers and returns its number.
    func request(_ filter: JSONObject) async throws -> Int {
        try await number("SELECT appstore.request_repair(\(action.rawValue), \(Self.text(filter))::text::jsonb, \(note))")
    }

    /// How far a request has come.
    func progress(of repair: Int) async throws -> RepairProgress? {
        let rows = try await connection.query(
            "SELECT state, events_expected, events_repaired, error FROM appstore.repairs WHERE repair_id = \(repair)"
        )
        return try rows.first.map { row in
            RepairProgress(
                repair: repair,
                state: try row.decode("state"),
                expected: Int(try row.decode("events_expected", as: Int64.self)),
                repaired: Int(try row.decode("events_repaired", as: Int64.self)),
                error: try row.decode("error")
            )
        }
    }

    private func number(_ statement: Statement) async throws -> Int {
        Int(try await connection.query(statement).first?.decode(0, as: Int64.self) ?? 0)
    }

    private static func text(_ filter: JSONObject) -> String {
        String(decoding: JSONSerializer.serialize(filter), as: UTF8.self)
    }
}
