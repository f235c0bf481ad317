import LivesTesting
import Postgres
import PostgresTesting

extension FinalState {
    private static let page = 50_000

    /// Reads everything with statements of this test, independent of the program.
    static func read(url: String) async throws -> FinalState {
        var options = try ConnectionOptions(url)
        options.statementDeadline = .seconds(900)
        let connection = try await Connection.open(options, logger: .silent)
        var state = FinalState()
        repeat {
            let last = state.events.last?.id ?? 0
            let rows = try await connection.query(
                "SELECT event_id, sha256(body) FROM appstore.inbox WHERE event_id > \(last) ORDER BY event_id LIMIT \(page)"
            )
            guard !rows.isEmpty else { break }
            state.events += try rows.map { row in
                let (id, hash) = try row.decode((Int64.self, [UInt8].self))
                return Event(id: id, digest: BodyDigest(bytes: hash))
            }
        } while true
        state.ready = try await connection.query("SELECT event_id FROM appstore.inbox_queue").map { try $0.decode(0) }
        state.outcomes = try await connection.query(
            "SELECT event_id, result, reason FROM appstore.outcomes UNION ALL SELECT event_id, result, reason FROM appstore.outcome_history"
        ).map { row in
            let (id, result, reason) = try row.decode((Int64.self, String.self, String?.self))
            return Outcome(eventID: id, result: result, reason: reason)
        }
        state.attempts = try await connection.query("SELECT event_id, coalesce(error, ''), was_alone FROM chaos.attempts").map { row in
            let (id, error, wasAlone) = try row.decode((Int64.self, String.self, Bool.self))
            return Attempt(eventID: id, error: error, wasAlone: wasAlone)
        }
        state.notExactlyOnce = try await connection.query("SELECT * FROM appstore.events_not_exactly_once()").map { try $0.decode(0) }
        state.seen = try await connection.query("SELECT notification_uuid::text FROM appstore.seen_notifications").map { try $0.decode(0) }
        let lines = try await LedgerReader.lines(connection)
        state.effects = lines.filter(Expectation.isEffect)
        state.ledger = lines.filter { !Expectation.isEffect($0) }
        await connection.close()
        return state
    }
}
