import Feed
import HTTPServing
import NIOCore
import NIOHTTP1

/// The feed: what changed, in order.
struct FeedEndpoint: Sendable {
    let store: ShopStore
    let watch: FeedWatch
    private let shared: SharedFeedReads

    init(store: ShopStore, watch: FeedWatch) {
        self.store = store
        self.watch = watch
        shared = SharedFeedReads(store)
    }

    /// `GET /v1/feed`: the entries after a cursor. Without any it waits for one, up to `wait`; a stream goes on.
    func read(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        let format = FeedFormat(request.httpRequest)
        let query = try RequestQuery(request.httpRequest, known: RequestQuery.ofFeed)
        let deadline = ContinuousClock.now + (try query.feedWait())
        let lastEventID = format == .eventStream ? request.httpRequest.field("last-event-id") : nil
        var question = try query.feedQuestion(lastEventID: lastEventID)
        question.asCloudEvents = format == .cloudEvents
        if let environment = question.environment { try request.key.check(environment) }
        var page = try await store.feed(question, key: request.key)
        guard format != .eventStream else {
            guard !watch.isFull else { throw .tooManyWaiting }
            let stream = FeedStream(reads: shared, watch: watch, key: request.key)
            // nginx keeps answers in a buffer where it is not told otherwise.
            let headers: HTTPHeaders = ["content-type": format.rawValue, "cache-control": "no-store", "x-accel-buffering": "no"]
            return Response(headers: headers) { [page, question] writer in
                await stream.write(page, to: question, writer)
            }
        }
        guard !page.events.isEmpty || deadline <= .now || !watch.isFull else { throw .tooManyWaiting }
        while page.events.isEmpty, !page.hasMore, await watch.grows(beyond: page.end, until: deadline) {
            question = question.after(page)
            page = try await shared.feed(question, key: request.key)
        }
        return format == .cloudEvents ? .cloudEvents(page) : .feed(page)
    }

    /// `GET /v1/feed/{position}`: one entry.
    func entry(_ request: AuthorizedRequest) async throws(Problem) -> Response {
        _ = try RequestQuery(request.httpRequest, known: [])
        guard let position = Int64(canonical: request.httpRequest.values["position", default: ""]), position > 0,
            let event = try await store.feedEntry(at: position, key: request.key)
        else { throw .noSuchEntry }
        return .json(ByteBuffer(string: event))
    }
}

extension Response {
    fileprivate static func feed(_ page: FeedPage) -> Response {
        let head = FeedCursor(generation: page.end.generation, position: page.end.position)
        return .json(
            ByteBuffer(string: #"{"events":\#(page.array),"next":"\#(page.next)","more":\#(page.hasMore),"head":"\#(head)"}"#)
        )
    }

    /// A batch has no place for the cursor, which is in a field.
    fileprivate static func cloudEvents(_ page: FeedPage) -> Response {
        var response = json(ByteBuffer(string: page.array), mediaType: FeedFormat.cloudEvents.rawValue)
        response.headers.add(name: "feed-next", value: page.next.description)
        return response
    }
}

extension FeedPage {
    fileprivate var array: String { "[\(events.map(\.json).joined(separator: ","))]" }
}
