import AppStore
import Postgres
import SQL
import StrictJSON

/// What the inbox holds of one event: how it came in, what became of it in each run, and who repaired what.
struct InboxRecord {
    let eventID: Int64
    let source: String
    let receivedAt: PostgresTimestamp
    /// Nil when it has been dropped, as old bodies are.
    let body: [UInt8]?
    /// The row of `inbox_queue`, while it has no outcome.
    let queue: JSONObject?
    /// Whether the time of its next attempt has come.
    let isDue: Bool
    /// The row of `outcomes`.
    let outcome: JSONObject?
    /// The rows of `outcome_history`, first run first.
    let history: [JSONObject]
    /// Rows of `audit_log`; nil when the role may not read it.
    let audit: [JSONObject]?
    /// When all this was so, by the database's clock.
    let readAt: PostgresTimestamp

    /// `settled`, or `ready` or `waiting` as the view `inbox_status` has it.
    var state: String {
        guard outcome == nil, queue != nil else { return "settled" }
        return isDue ? "ready" : "waiting"
    }

    /// Reads it; nil when there never was such an event.
    static func read(_ eventID: Int64, in transaction: Transaction) async throws -> InboxRecord? {
        let answers = try await transaction.pipeline([
            Statement(.explainInbox, ["event_id": eventID]), Statement(.explainOutcome, ["event_id": eventID]),
            Statement(.explainOutcomeHistory, ["event_id": eventID]), Statement(.explainQueue, ["event_id": eventID]),
            Statement(.explainSession),
        ])
        guard let known = answers[0].first ?? answers[1].first ?? answers[2].first, let about = answers[4].first else { return nil }
        return InboxRecord(
            eventID: eventID,
            source: try known.decode("source"),
            receivedAt: try known.decode("received_at"),
            body: try answers[0].first?.decode("body"),
            queue: try answers[3].first?.object(),
            isDue: try answers[3].first?.decode("is_due") ?? false,
            outcome: try answers[1].first?.object(),
            history: try answers[2].objects(),
            audit: try about.decode("reads_audit") ? try await audit(of: eventID, in: transaction) : nil,
            readAt: try about.decode("now")
        )
    }

    private static func audit(of eventID: Int64, in transaction: Transaction) async throws -> [JSONObject] {
        try await transaction.query(Statement(.explainAudit, ["event_id": eventID])).objects()
    }
}
