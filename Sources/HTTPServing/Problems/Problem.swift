package import AppStore

/// A refusal in the terms of RFC 9457.
///
/// Its texts are constants of this program: nothing of a request ever gets into one.
package struct Problem: Error, Hashable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// A stable word for this kind of problem: the end of its `type`, and its label in metrics.
    package let reason: String
    /// What is wrong, the same for every occurrence.
    package let title: String
    /// What the client can do about it.
    package let detail: String
    /// After how many seconds it is worth trying again.
    package var retryAfter: Int?
    /// The methods that the resource knows, for status 405.
    package var allow: String?
    /// How a client has to show who it is, for status 401.
    package var challenge: String?
    /// Members beside those of RFC 9457.
    package var extensions = JSONObject()

    package init(_ status: Int, _ reason: String, _ title: String, _ detail: String, retryAfter: Int? = nil, allow: String? = nil) {
        self.status = status
        self.reason = reason
        self.title = title
        self.detail = detail
        self.retryAfter = retryAfter
        self.allow = allow
    }

    /// The media type of `json`.
    package static let mediaType = "application/problem+json"
    /// What `type` begins with; the reason follows.
    package static let typePrefix = "urn:appstore-inbox:problem:"

    /// The problem as a JSON object and a line feed.
    package var json: String {
        var object: JSONObject = [
            "type": .string(Self.typePrefix + reason), "title": .string(title), "status": .integer(status), "detail": .string(detail),
        ]
        for member in extensions.members { object[member.name] = member.value }
        return String(decoding: JSONSerializer.serialize(object), as: UTF8.self) + "\n"
    }

    /// The header fields that go with `json`, its length included.
    package var headerFields: [(name: String, value: String)] {
        var fields = [("content-type", Self.mediaType), ("content-length", "\(json.utf8.count)")]
        if let retryAfter { fields.append(("retry-after", "\(retryAfter)")) }
        if let allow { fields.append(("allow", allow)) }
        if let challenge { fields.append(("www-authenticate", challenge)) }
        return fields
    }
}
