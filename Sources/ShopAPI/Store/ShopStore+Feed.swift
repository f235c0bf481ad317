import AppStore
import Feed
import HTTPServing
import Postgres
import SQL

/// The statements of the feed.
extension ShopStore {
    /// The next entries.
    ///
    /// - Throws: status 404, 409 or 410 when a reader cannot go on from the place that it named.
    func feed(_ question: FeedQuestion, key: KeyScope) async throws(Problem) -> FeedPage {
        let statement = Statement.apiFeed(
            keyHash: key.hash,
            environment: question.environment?.rawValue,
            types: question.types,
            consumer: question.consumer,
            generation: question.cursor.generation,
            fromPosition: question.cursor.position,
            since: question.cursor.since,
            maxEntries: question.limit,
            asCloudEvents: question.asCloudEvents
        )
        return try await rows(statement, for: .readFeed) { try FeedPage($0[$0.startIndex]) }
    }

    /// The JSON of the entry at a position; nil when the key covers none.
    func feedEntry(at position: Int64, key: KeyScope) async throws(Problem) -> String? {
        let statement = Statement.apiFeedEntry(keyHash: key.hash, position: position)
        return try await rows(statement, for: .readFeed) { try $0[$0.startIndex].decode(0) }
    }

    /// Where the feed ends.
    func feedEnd() async throws(Problem) -> FeedEnd {
        try await rows(.feedEnd()) { try FeedEnd($0) }
    }

    /// A named consumer; nil when there is none.
    func consumer(_ name: String, key: KeyScope) async throws(Problem) -> FeedConsumer? {
        let statement = Statement.apiConsumer(keyHash: key.hash, name: name)
        return try await rows(statement, for: .readFeed) { try $0.first.map { try FeedConsumer($0, name: name) } }
    }

    /// Makes a named consumer, or moves it.
    ///
    /// - Throws: status 409 or 410 when nothing can be read from there.
    func setConsumer(_ name: String, to cursor: FeedCursor, key: KeyScope) async throws(Problem) {
        let statement = Statement.apiSetConsumer(
            keyHash: key.hash,
            name: name,
            generation: cursor.generation,
            position: cursor.position,
            since: cursor.since
        )
        try await rows(statement, for: .consumeFeed) { rows in
            let row = rows[rows.startIndex]
            _ = try FeedPlace(row, state: try row.decode("state"))
        }
    }

    /// Removes a named consumer; false when there is none.
    func removeConsumer(_ name: String, key: KeyScope) async throws(Problem) -> Bool {
        let statement = Statement.apiRemoveConsumer(keyHash: key.hash, name: name)
        return try await rows(statement, for: .consumeFeed) { try $0[$0.startIndex].decode(0) }
    }
}

extension FeedEnd {
    /// - Parameter rows: of `appstore.feed_end`.
    init(_ rows: Rows) throws {
        let row = rows[rows.startIndex]
        self.init(generation: try row.decode("generation"), position: try row.decode("position"))
    }
}
