import HTTPServing
import HTTPServingTesting
import InboxTesting
import Postgres
import StrictJSON
import Testing

/// A feed whose entries are written by hand: `user.forgotten`, which is for each key and needs no ledger, and entries of an app.
extension RunningAPI {
    /// Runs the API with a feed that is on.
    static func runWithFeed(
        limits: (inout ListenerLimits) -> Void = { _ in },
        _ body: (RunningAPI, TestKey) async throws -> Void
    ) async throws {
        try await run(limits: limits) { api in
            try await api.database.change("SELECT appstore.enable_feed()")
            try await body(api, try await api.makeKey())
        }
    }

    /// The generations of the feed so far.
    func generations() async throws -> [Int] {
        try await database.lines("SELECT generation::text FROM appstore.feed_generations ORDER BY generation").compactMap { Int($0) }
    }

    /// Tells of these users, and numbers the entries.
    func tell(_ names: [String]) async throws {
        try await database.change("INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', unnest(\(names))")
        try await database.sequenceFeed()
    }

    /// Numbers an entry of an app.
    func tell(_ type: String, of app: String?, in environment: String?) async throws {
        try await database.change("INSERT INTO appstore.tells (kind, ref) VALUES ('forgotten', 'one')")
        let statement: Statement = """
            UPDATE appstore.feed SET type = \(type), bundle_id = \(app), environment = \(environment)::text::appstore.environment, user_id = NULL
            WHERE position = (SELECT position FROM appstore.feed_head)
            """
        // In one transaction, so that no reader sees the entry as it was.
        try await database.withConnection { connection in
            try await connection.withTransaction { transaction in
                _ = try await transaction.query("SELECT appstore.sequence_feed()")
                _ = try await transaction.execute(statement)
            }
        }
    }

    /// The answer to `GET /v1/feed`.
    func feed(_ query: String = "", key: TestKey, sourceLocation: SourceLocation = #_sourceLocation) async throws -> FeedAnswer {
        let response = try await exchange("GET", "/v1/feed\(query)", key: key, sourceLocation: sourceLocation)
        let json = try response.json()
        return FeedAnswer(
            status: response.status,
            problem: response.problem,
            parameter: json["parameter"]?.text,
            users: json["events"]?.elements.map { $0["data"]?["user"]?.text ?? $0["type"]?.text ?? "" } ?? [],
            next: json["next"]?.text,
            head: json["head"]?.text,
            hasMore: json["more"] == .bool(true)
        )
    }

    /// Begins to read the feed as a stream, and returns the client after the head of the answer.
    func stream(_ query: String = "", key: TestKey, fields: String = "") async throws -> RawClient {
        let request = """
            GET /v1/feed\(query) HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer \(key.text)\r\nAccept: text/event-stream\r\n\(fields)\r\n
            """
        let client = try await RawClient.connect(port: port, sending: request)
        let head = try await client.text(until: "\r\n\r\n")
        #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.contains("content-type: text/event-stream"), "\(head)")
        return client
    }
}

/// What a test compares of an answer of the feed.
struct FeedAnswer: Equatable {
    var status = 200
    var problem: String?
    var parameter: String?
    /// The users of the entries, or the types of those without one.
    var users: [String] = []
    var next: String?
    var head: String?
    var hasMore = false
}
