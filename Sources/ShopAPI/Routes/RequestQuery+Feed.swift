import Feed
import HTTPServing

/// The parameters of the feed.
extension RequestQuery {
    static let ofFeed = ["after", "consumer", "environment", "limit", "types", "wait"]

    /// What is asked of the feed, without its format.
    ///
    /// - Parameter lastEventID: the cursor with which a stream goes on; it precedes the query.
    func feedQuestion(lastEventID: String?) throws(Problem) -> FeedQuestion {
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
    func feedWait() throws(Problem) -> Duration {
        guard let text = values["wait"] else { return .zero }
        guard let seconds = Int(canonical: text), (0...30).contains(seconds) else {
            throw .invalidParameter("wait", "wait must be a whole number of seconds from 0 to 30.")
        }
        return .seconds(seconds)
    }
}
