import HTTPServing
import NIOHTTP1
import Postgres
import StrictJSON

/// The named consumers of the feed: cursors that the database keeps, for those without a store. All keys with the verb share the names.
struct ConsumersEndpoint: Sendable {
    let store: ShopStore

    /// `GET /v1/feed/consumers/{name}`: how far a consumer is.
    func consumer(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        try await consumer(named: name(request), key: request.key)
    }

    /// `PUT /v1/feed/consumers/{name}`: makes a consumer or moves it, so that it acknowledges what comes before the cursor.
    func set(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let name = try name(request)
        let body = try RequestObject(request.httpRequest, known: ["cursor"])
        guard let cursor = FeedCursor(try body.requiredText("cursor")) else {
            throw .invalidMember("cursor", "cursor \(FeedCursor.rule)")
        }
        try await store.setConsumer(name, to: cursor, key: request.key)
        return try await consumer(named: name, key: request.key)
    }

    /// `DELETE /v1/feed/consumers/{name}`: removes a consumer.
    func remove(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        guard try await store.removeConsumer(name(request), key: request.key) else { throw .noSuchConsumer }
        return Response(status: .noContent)
    }

    private func consumer(named name: String, key: KeyScope) async throws(Problem) -> Response {
        guard let consumer = try await store.consumer(name, key: key) else { throw .noSuchConsumer }
        return .json(consumer.json)
    }

    private func name(_ request: AuthorizedRequest) throws(Problem) -> String {
        _ = try RequestQuery(request.httpRequest, known: [])
        let name = request.httpRequest.values["name", default: ""]
        guard FeedConsumer.isName(name) else { throw .invalidParameter("name", "name \(FeedConsumer.nameRule)") }
        return name
    }
}

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

    static let nameRule = "must have 1 to 63 lower-case letters, digits, and . _ - and begin with a letter."

    /// Whether a text may be the name of a consumer.
    static func isName(_ text: String) -> Bool { text.wholeMatch(of: /[a-z][a-z0-9_.-]{0,62}/) != nil }
}
