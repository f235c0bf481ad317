import AppStore
import Postgres

/// The inbox in numbers, all of one instant.
struct InboxStatus {
    /// Events that are due.
    let ready: Int64
    /// Events that wait for their next attempt.
    let waiting: Int64
    /// Seconds for which the longest waiting event has been without outcome; nil when there is none.
    let oldestUnsettledAge: Int64?
    /// Seconds since the last genuine notification came in; nil when there has been none. Anyone can post junk, so that it does not count.
    let silence: Int64?
    /// Settled events by result.
    let results: [(result: String, events: Int64)]

    static func read(from connection: Connection) async throws -> InboxStatus {
        let answers = try await connection.pipeline([
            """
            SELECT count(*) FILTER (WHERE state = 'ready') AS ready, count(*) FILTER (WHERE state = 'waiting') AS waiting,
                   floor(extract(epoch FROM clock_timestamp() - min(received_at)))::bigint AS oldest
            FROM appstore.inbox_status WHERE state <> 'settled'
            """,
            "SELECT result, count(*) AS events FROM appstore.outcomes GROUP BY result ORDER BY result",
            """
            SELECT floor(extract(epoch FROM clock_timestamp() - o.received_at))::bigint AS silence FROM appstore.outcomes AS o
            WHERE o.source LIKE 'notification%' AND o.result NOT IN ('rejected', 'failed', 'discarded')
            ORDER BY o.event_id DESC LIMIT 1
            """,
        ])
        let queue = answers[0][answers[0].startIndex]
        return InboxStatus(
            ready: try queue.decode("ready"),
            waiting: try queue.decode("waiting"),
            oldestUnsettledAge: try queue.decode("oldest"),
            silence: try answers[2].first?.decode("silence"),
            results: try answers[1].map { (try $0.decode("result"), try $0.decode("events")) }
        )
    }

    /// `{"ready": …, "waiting": …, "oldestUnsettledSeconds": …, "lastNotificationSeconds": …, "outcomes": {"applied": …}}`.
    var json: JSONObject {
        [
            "ready": .number(JSONNumber(ready)), "waiting": .number(JSONNumber(waiting)),
            "oldestUnsettledSeconds": oldestUnsettledAge.map { .number(JSONNumber($0)) } ?? .null,
            "lastNotificationSeconds": silence.map { .number(JSONNumber($0)) } ?? .null,
            "outcomes": .object(JSONObject(results.map { ($0.result, .number(JSONNumber($0.events))) })),
        ]
    }

    var text: String {
        var lines = ["ready       \(ready)", "waiting     \(waiting)"]
        if let oldestUnsettledAge { lines.append("oldest      \(oldestUnsettledAge) s without outcome") }
        lines.append("silence     " + (silence.map { "\($0) s since the last notification" } ?? "no notification has come yet"))
        lines += results.map { $0.result + String(repeating: " ", count: max(1, 12 - $0.result.count)) + "\($0.events)" }
        return lines.joined(separator: "\n")
    }
}
