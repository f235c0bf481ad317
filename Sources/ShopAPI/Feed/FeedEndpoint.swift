import Feed
import HTTPServing
import NIOCore
import NIOHTTP1
import Synchronization

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
            let stream = FeedStream(reads: shared, watch: watch, key: request.key, client: request.httpRequest.client)
            // nginx keeps answers in a buffer where it is not told otherwise.
            let headers: HTTPHeaders = ["content-type": format.rawValue, "cache-control": "no-store", "x-accel-buffering": "no"]
            return Response(headers: headers) { [page, question] writer in
                await stream.write(page, to: question, writer)
            }
        }
        guard !page.events.isEmpty || deadline <= .now || !watch.isFull else { throw .tooManyWaiting }
        let client = request.httpRequest.client
        while page.events.isEmpty, !page.hasMore, await watch.grows(beyond: page.end, until: deadline, unless: { client.isGone }) {
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

/// The parameters of the feed.
extension RequestQuery {
    fileprivate static let ofFeed = ["after", "consumer", "environment", "limit", "types", "wait"]

    /// What is asked of the feed, without its format.
    ///
    /// - Parameter lastEventID: the cursor with which a stream goes on; it precedes the query.
    fileprivate func feedQuestion(lastEventID: String?) throws(Problem) -> FeedQuestion {
        let name = lastEventID == nil ? "after" : "last-event-id"
        guard let cursor = FeedCursor(lastEventID ?? values["after"] ?? "begin") else {
            throw .invalidParameter(name, "\(name) \(FeedCursor.rule)")
        }
        guard values["after"] == nil || values["consumer"] == nil else {
            throw .invalidParameter("consumer", "consumer must not be there beside after: it says where to begin.")
        }
        return FeedQuestion(
            environment: try environment(),
            types: try feedTypes(),
            consumer: lastEventID == nil ? try consumer() : nil,
            cursor: cursor,
            limit: try feedLimit()
        )
    }

    private func consumer() throws(Problem) -> String? {
        guard let name = values["consumer"] else { return nil }
        guard FeedConsumer.isName(name) else { throw .invalidParameter("consumer", "consumer \(FeedConsumer.nameRule)") }
        return name
    }

    private func feedTypes() throws(Problem) -> [String]? {
        guard let text = values["types"] else { return nil }
        let types = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard types.allSatisfy(FeedType.words.contains) else {
            throw .invalidParameter(
                "types",
                "types must be types of entries with commas between them, such as access.changed,effect.*: \(FeedType.all.joined(separator: ", "))."
            )
        }
        return types
    }

    private func feedLimit() throws(Problem) -> Int32 {
        guard let text = values["limit"] else { return 100 }
        guard let limit = Int32(canonical: text), (1...1000).contains(limit) else {
            throw .invalidParameter("limit", "limit must be a whole number from 1 to 1000.")
        }
        return limit
    }

    /// How long the request may wait for entries.
    fileprivate func feedWait() throws(Problem) -> Duration {
        guard let text = values["wait"] else { return .zero }
        guard let seconds = Int(canonical: text), (0...30).contains(seconds) else {
            throw .invalidParameter("wait", "wait must be a whole number of seconds from 0 to 30.")
        }
        return .seconds(seconds)
    }
}

/// The forms of the feed that a client can accept.
private enum FeedFormat: String, CaseIterable {
    case json = "application/json"
    case cloudEvents = "application/cloudevents-batch+json"
    case eventStream = "text/event-stream"

    /// The first form that the field Accept names; JSON when it names none.
    init(_ request: Request) {
        let ranges = (request.field("accept") ?? "").lowercased().split(separator: ",").map { range in
            range.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
        }
        self = ranges.lazy.compactMap(Self.init(rawValue:)).first ?? .json
    }
}

/// The feed as server-sent events: the entries after a cursor, and each new one as soon as it is told.
private struct FeedStream: Sendable {
    /// The longest pause between two pieces. A client that does not say that it has gone is noticed after it.
    private static let heartbeat: Duration = .seconds(15)
    private static let pieceBytes = 64 * 1024

    let reads: SharedFeedReads
    let watch: FeedWatch
    let key: KeyScope
    let client: RequestClient

    /// Writes until the client is gone, the process shuts down, or the feed cannot be read. The client then connects again, with its cursor.
    ///
    /// - Parameter first: the answer to `question`.
    func write(_ first: FeedPage, to question: FeedQuestion, _ writer: ResponseWriter) async {
        var (question, page, text) = (question, first, "retry: 2000\n\n")
        var heartbeatAt = ContinuousClock.now
        while true {
            for event in page.events {
                text += "id: \(page.cursor(of: event))\nevent: \(event.type)\ndata: \(event.json)\n\n"
                if text.utf8.count >= Self.pieceBytes {
                    guard await writer.write(text) else { return }
                    text = ""
                }
            }
            // A comment; the id moves the cursor past entries that were not asked for.
            if page.events.isEmpty, heartbeatAt <= .now { text += ":\nid: \(page.next)\n\n" }
            if !text.isEmpty {
                guard await writer.write(text) else { return }
                text = ""
                heartbeatAt = .now + Self.heartbeat
            }
            if !page.hasMore { _ = await watch.grows(beyond: page.end, until: heartbeatAt, unless: { client.isGone }) }
            guard !watch.isStopped, !client.isGone, !Task.isCancelled else { return }
            question = question.after(page)
            do throws(Problem) { page = try await reads.feed(question, key: key) } catch { return }
        }
    }
}

extension FeedPage {
    fileprivate func cursor(of event: Event) -> FeedCursor { FeedCursor(generation: end.generation, position: event.position) }
}

/// Reads of the feed that callers share. Those that wait for it wake up together, and most of them ask the same with the same key.
private final class SharedFeedReads: Sendable {
    private struct Read: Hashable {
        let question: FeedQuestion
        let key: KeyScope
    }

    private let store: ShopStore
    private let inFlight = Mutex<[Read: Task<Result<FeedPage, Problem>, Never>]>([:])

    init(_ store: ShopStore) {
        self.store = store
    }

    /// The next entries, as ``ShopStore/feed(_:key:)``. The read may have begun before this call, so that a caller that is told of a later end has
    /// to ask again.
    func feed(_ question: FeedQuestion, key: KeyScope) async throws(Problem) -> FeedPage {
        let read = Read(question: question, key: key)
        let task = inFlight.withLock { inFlight in
            if let task = inFlight[read] { return task }
            // Of no caller: the first one may be cancelled while others wait for the same read.
            let task = Task {
                defer { self.inFlight.withLock { $0[read] = nil } }
                do throws(Problem) { return Result<FeedPage, Problem>.success(try await store.feed(question, key: key)) } catch {
                    return .failure(error)
                }
            }
            inFlight[read] = task
            return task
        }
        return try await task.value.get()
    }
}
