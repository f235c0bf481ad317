import AppStore
import Postgres
import StrictJSON

/// An attempt to deliver an entry of the feed.
struct DeliveryAttempt: Sendable {
    let at: Timestamp
    let type: String?
    let position: Int64
    let result: String
    let status: Int32?
    let milliseconds: Int32
    /// The begin of what the receiver answered, which may be anything.
    let answer: String?
    let error: String?

    init(_ row: Row) throws {
        at = Timestamp(try row.decode("at", as: PostgresTimestamp.self))
        type = try row.decode("type")
        position = try row.decode("position")
        result = try row.decode("result")
        status = try row.decode("status")
        milliseconds = try row.decode("milliseconds")
        answer = try row.decode("answer")
        error = try row.decode("error")
    }

    var isDelivered: Bool { result == "delivered" }

    var json: JSONObject {
        [
            "at": .string(at.description), "type": .optional(type), "position": .integer(position),
            "result": .string(result), "status": .optional(status), "milliseconds": .integer(milliseconds),
            "answer": .optional(answer), "error": .optional(error),
        ]
    }

    /// The result, and why: `failed, 500 in 12 ms: no database (answer: <html>…)`.
    var words: String {
        let time = status.map { "\($0) in \(milliseconds) ms" } ?? "after \(milliseconds) ms"
        let cause = error.map { ": \($0.onOneLineSafely)" } ?? ""
        guard let answer, !answer.isEmpty else { return "\(result), \(time)\(cause)" }
        let shown = String(answer.prefix(Self.shownCharacters)).onOneLineSafely + (answer.count > Self.shownCharacters ? "…" : "")
        return "\(result), \(time)\(cause) (it answered: \(shown))"
    }

    private static let shownCharacters = 200
}
