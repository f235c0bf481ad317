/// A refusal in the terms of RFC 9457.
///
/// Its texts are constants of this program: nothing of a request ever gets into one.
struct Problem: Error, Hashable, Sendable {
    /// The HTTP status.
    let status: Int
    /// A stable word for this kind of problem: the end of its `type`, and its label in metrics.
    let reason: String
    /// What is wrong, the same for every occurrence.
    let title: String
    /// What the client can do about it.
    let detail: String
    /// After how many seconds it is worth trying again.
    var retryAfter: Int?
    /// The methods that the resource knows, for status 405.
    var allow: String?

    init(_ status: Int, _ reason: String, _ title: String, _ detail: String, retryAfter: Int? = nil, allow: String? = nil) {
        self.status = status
        self.reason = reason
        self.title = title
        self.detail = detail
        self.retryAfter = retryAfter
        self.allow = allow
    }

    /// The media type of `json`.
    static let mediaType = "application/problem+json"

    /// The problem as a JSON object. The texts need no escaping; a test asserts it for the whole catalogue.
    var json: String {
        #"{"type":"urn:appstore-inbox:problem:\#(reason)","title":"\#(title)","status":\#(status),"detail":"\#(detail)"}"# + "\n"
    }

    /// The header fields that go with `json`, its length included.
    var headerFields: [(name: String, value: String)] {
        var fields = [("content-type", Self.mediaType), ("content-length", "\(json.utf8.count)")]
        if let retryAfter { fields.append(("retry-after", "\(retryAfter)")) }
        if let allow { fields.append(("allow", allow)) }
        return fields
    }
}
