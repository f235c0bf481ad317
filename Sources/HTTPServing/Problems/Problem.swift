package import StrictJSON

/// A problem details object (RFC 9457) that refuses a request.
///
/// Its texts are constants: they never contain data of a request.
package struct Problem: Error, Hashable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// A stable identifier of the kind of problem: the end of its `type`, and its label in metrics.
    package let reason: String
    /// What is wrong; the same for every occurrence.
    package let title: String
    /// What the client can do about it.
    package let detail: String
    /// The value of the Retry-After field, in seconds.
    package var retryAfter: Int?
    /// The methods that the resource supports, for status 405.
    package var allow: String?
    /// The authentication challenge, for status 401.
    package var challenge: String?
    /// Extension members (RFC 9457, section 3.2).
    package var extensions: JSONObject

    package init(
        _ status: Int,
        _ reason: String,
        _ title: String,
        _ detail: String,
        retryAfter: Int? = nil,
        allow: String? = nil,
        extensions: JSONObject = [:]
    ) {
        self.status = status
        self.reason = reason
        self.title = title
        self.detail = detail
        self.retryAfter = retryAfter
        self.allow = allow
        self.extensions = extensions
    }

    /// The media type of `json`.
    package static let mediaType = "application/problem+json"
    /// The prefix of `type`, before the reason.
    package static let typePrefix = "urn:appstore-inbox:problem:"

    /// The problem as a JSON object, followed by a line feed.
    package var json: String {
        var object: JSONObject = [
            "type": .string(Self.typePrefix + reason), "title": .string(title), "status": .integer(status), "detail": .string(detail),
        ]
        for member in extensions.members { object[member.name] = member.value }
        return JSONSerializer.text(object) + "\n"
    }
}
