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
