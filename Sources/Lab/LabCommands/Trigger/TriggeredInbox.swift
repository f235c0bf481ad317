import Commands
import Postgres

/// The inbox that receives the posts, read as `appstore_worker`: no other role may read bodies.
struct TriggeredInbox {
    /// No event of the inbox has the body that was posted.
    struct OtherInbox: Error, CustomStringConvertible {
        let description = "the post was accepted, but its event is not in this database: it must be the one of that ingest"
    }

    private let connection: Connection

    /// Lends the inbox in the database of that connection string, or else of the settings.
    static func with<Value>(_ url: String?, _ body: (TriggeredInbox) async throws -> Value) async throws -> Value {
        try await ProgramDatabase.open(url, command: "trigger").closing { try await body(TriggeredInbox(connection: $0)) }
    }

    /// The contracts of a user, or the one with this originalTransactionId, or both.
    func contracts(of user: String?, named original: String?) async throws -> [KnownContract] {
        try await connection.query(KnownContract.statement(user: user, original: original)).map(KnownContract.init)
    }

    /// The greatest event number so far.
    func latestEvent() async throws -> Int64 {
        try await connection.query("SELECT coalesce(max(event_id), 0) AS event_id FROM appstore.inbox").first?.decode("event_id") ?? 0
    }

    /// The events of a post that was accepted after `latest`, oldest first.
    func events(of post: TriggeredPost, after latest: Int64) async throws -> [Int64] {
        let events: [Int64] = try await connection.query(
            "SELECT event_id FROM appstore.inbox WHERE event_id > \(latest) AND position(\(post.mark) IN body) > 0 ORDER BY event_id"
        ).map { try $0.decode("event_id") }
        guard !events.isEmpty else { throw OtherInbox() }
        return events
    }

    /// The state of an event once it is settled, or at the deadline.
    func state(of event: Int64, by deadline: ContinuousClock.Instant) async throws -> EventState {
        while true {
            let rows = try await connection.query(
                """
                SELECT result::text AS result, reason, attempts, last_error FROM appstore.inbox_status WHERE event_id = \(event)
                """
            )
            guard let row = rows.first else { throw OtherInbox() }
            let state = EventState(
                event: event,
                result: try row.decode("result"),
                reason: try row.decode("reason"),
                attempts: try row.decode("attempts"),
                lastError: try row.decode("last_error")
            )
            if state.result != nil || ContinuousClock.now >= deadline { return state }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// What became of an event.
struct EventState {
    let event: Int64
    /// Nil until it is settled.
    let result: String?
    let reason: String?
    let attempts: Int32
    let lastError: String?

    /// Whether the event was merged, or had nothing to merge.
    var isGood: Bool { result.map { !["rejected", "failed", "discarded"].contains($0) } ?? false }
}
