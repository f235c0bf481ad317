import HTTPServing
import NIOHTTP1

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
