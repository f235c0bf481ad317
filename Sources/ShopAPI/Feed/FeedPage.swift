import AppStore
import Feed
import HTTPServing
import Postgres

/// What is asked of the feed.
struct FeedQuestion: Hashable, Sendable {
    /// Nil for those of the key.
    var environment: AppStoreEnvironment?
    /// Types and patterns; nil for the usual ones.
    var types: [String]?
    /// The named consumer that says where to begin; nil where `cursor` does.
    var consumer: String?
    var cursor: FeedCursor
    var limit: Int32 = 100
    var asCloudEvents = false

    /// The question about what follows an answer.
    func after(_ page: FeedPage) -> FeedQuestion {
        var next = self
        (next.consumer, next.cursor) = (nil, page.next)
        return next
    }
}

/// Entries of the feed that follow a cursor.
struct FeedPage: Sendable {
    /// An entry: its JSON and what a stream says beside it.
    struct Event: Sendable {
        let json: String
        let type: String
        let position: Int64
    }

    let events: [Event]
    /// Where to go on, also past entries that were not asked for.
    let next: FeedCursor
    /// Where the feed ended.
    let end: FeedEnd
    /// Whether more entries are there already.
    let hasMore: Bool

    /// - Throws: status 404, 409 or 410 instead of entries.
    init(_ row: Row) throws {
        let state: String = try row.decode("state")
        guard state != "no_consumer" else { throw Problem.noSuchConsumer }
        let place = try FeedPlace(row, state: state)
        (next, end, hasMore) = (place.cursor, place.end, place.cursor.position != place.end.position)
        let (jsons, types) = (try row.decode("events", as: [String].self), try row.decode("event_types", as: [String].self))
        let positions = try row.decode("positions", as: [Int64].self)
        events = zip(jsons, zip(types, positions)).map { Event(json: $0, type: $1.0, position: $1.1) }
    }
}

/// A place in the feed, and where the feed ends.
struct FeedPlace: Sendable {
    let cursor: FeedCursor
    let end: FeedEnd

    /// - Throws: status 409 or 410 when a reader cannot go on from the place that it named.
    init(_ row: Row, state: String) throws {
        guard state != "off" else { throw Problem.feedOff }
        let generation: Int32 = try row.decode("head_generation")
        cursor = FeedCursor(generation: generation, position: try row.decode("after"))
        end = FeedEnd(generation: generation, position: try row.decode("head"))
        if state == "changed" { throw Problem.historyChanged(next: cursor) }
        if state == "expired" { throw Problem.cursorExpired(next: cursor) }
    }
}

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
