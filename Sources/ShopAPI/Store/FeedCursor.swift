import AppStore
import Postgres

/// A place in the feed, as a client names it: `1.184967`, `begin`, `now`, or `time:2026-11-01T00:00:00Z`.
struct FeedCursor: Hashable, Sendable, LosslessStringConvertible {
    /// The generation of `position`; nil for `begin`, `now` and an instant.
    let generation: Int32?
    /// What follows this position is next; nil for `now` and an instant.
    let position: Int64?
    /// When the next entry was told, or later.
    let since: PostgresTimestamp?

    /// Before the oldest entry.
    static let begin = FeedCursor(generation: nil, position: 0, since: nil)
    /// After the latest entry.
    static let now = FeedCursor(generation: nil, position: nil, since: nil)

    static let rule = "must be a cursor of an earlier answer, such as 1.184967, or begin, now, or time:2026-11-01T00:00:00Z."

    private init(generation: Int32?, position: Int64?, since: PostgresTimestamp?) {
        (self.generation, self.position, self.since) = (generation, position, since)
    }

    /// After a position.
    init(generation: Int32, position: Int64) {
        self.init(generation: generation, position: position, since: nil)
    }

    /// Nil for other text than that of a cursor.
    init?(_ text: String) {
        switch text {
        case "begin": self = .begin
        case "now": self = .now
        default:
            if text.hasPrefix("time:") {
                guard let instant = Timestamp(rfc3339: Array(text.utf8.dropFirst(5))) else { return nil }
                let since = PostgresTimestamp(millisecondsSince1970: instant.millisecondsSince1970)
                self.init(generation: nil, position: nil, since: since)
            } else {
                let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2, let generation = Int32(canonical: parts[0]), let position = Int64(canonical: parts[1]),
                    generation >= 0, position >= 0
                else { return nil }
                self.init(generation: generation, position: position)
            }
        }
    }

    var description: String {
        if let generation, let position { return "\(generation).\(position)" }
        if let since { return "time:\(since.timestamp)" }
        return self == .begin ? "begin" : "now"
    }
}
