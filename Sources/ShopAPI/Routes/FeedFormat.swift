import HTTPServing

/// The forms of the feed that a client can accept.
enum FeedFormat: String, CaseIterable {
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
