import Postgres
import StrictJSON

/// A named consumer of the feed.
struct FeedConsumer: Sendable {
    let json: JSONObject

    /// - Parameter name: its name.
    init(_ row: Row, name: String) throws {
        let (generation, position, head): (Int32, Int64, Int64) =
            (try row.decode("generation"), try row.decode("position"), try row.decode("head"))
        json = [
            "name": .string(name), "cursor": .string(FeedCursor(generation: generation, position: position).description),
            "lag": .integer(head - position), "movedAt": try .instant(row, "moved_at"),
        ]
    }
}

extension FeedConsumer {
    static let nameRule = "must have 1 to 63 lower-case letters, digits, and . _ - and begin with a letter."

    /// Whether a text may be the name of a consumer.
    static func isName(_ text: String) -> Bool { text.wholeMatch(of: /[a-z][a-z0-9_.-]{0,62}/) != nil }
}
