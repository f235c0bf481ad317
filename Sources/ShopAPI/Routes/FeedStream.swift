import Feed
import HTTPServing

/// The feed as server-sent events: the entries after a cursor, and each new one as soon as it is told.
struct FeedStream: Sendable {
    /// The longest pause between two pieces. A client that has closed the connection is noticed after it.
    private static let heartbeat: Duration = .seconds(15)
    private static let pieceBytes = 64 * 1024

    let reads: SharedFeedReads
    let watch: FeedWatch
    let key: KeyScope

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
            if !page.hasMore { _ = await watch.grows(beyond: page.end, until: heartbeatAt) }
            guard !watch.isStopped else { return }
            question = question.after(page)
            do throws(Problem) { page = try await reads.feed(question, key: key) } catch { return }
        }
    }
}

extension FeedPage {
    fileprivate func cursor(of event: Event) -> FeedCursor { FeedCursor(generation: end.generation, position: event.position) }
}
