import NIOCore
import NIOHTTP1
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

/// The problems common to all listeners.
extension Problem {
    /// Status 400 for bytes that the HTTP/1.1 decoder refuses.
    package static let malformedRequest = Problem(
        400,
        "malformed-request",
        "Malformed request",
        "The bytes are not a valid HTTP/1.1 request."
    )
    /// Status 400 for a path whose percent-encoding is broken.
    package static let malformedPath = Problem(
        400,
        "malformed-path",
        "Malformed path",
        "A segment of the path is not percent-encoded UTF-8."
    )
    /// Status 400 for a body that is not JSON.
    package static let notJSON = Problem(400, "not-json", "Not JSON", "The body is not valid JSON (RFC 8259).")
    /// Status 400 for a JSON value that is not an object.
    package static let notAnObject = Problem(400, "not-an-object", "Not a JSON object", "The body is JSON, but not an object.")
    /// Status 404 for an unknown path.
    package static let notFound = Problem(404, "not-found", "Not found", "Nothing is served under this path.")
    /// Status 408 for a request that was not complete in time.
    package static let requestTimeout = Problem(408, "request-timeout", "Request timeout", "The request was not complete in time.")
    /// Status 411 for a body of unknown length.
    package static let lengthRequired = Problem(
        411,
        "length-required",
        "Length required",
        "Send Content-Length or the chunked transfer coding."
    )
    /// Status 415 for a body without a JSON media type.
    package static let unsupportedMediaType = Problem(415, "unsupported-media-type", "Unsupported media type", "Send application/json.")
    /// Status 415 for a compressed body.
    package static let contentEncodingRefused = Problem(
        415,
        "content-encoding-refused",
        "Content coding refused",
        "Send the body without Content-Encoding."
    )
    /// Status 417 for an expectation other than 100-continue.
    package static let expectationFailed = Problem(
        417,
        "expectation-failed",
        "Expectation failed",
        "Only Expect: 100-continue is understood."
    )
    /// Status 431 for a head above the limit.
    package static let headTooLarge = Problem(
        431,
        "head-too-large",
        "Request header fields too large",
        "The request line and header fields exceed the limit."
    )
    /// Status 501 for a transfer coding other than chunked.
    package static let transferCodingUnknown = Problem(
        501,
        "transfer-coding-unknown",
        "Transfer coding not implemented",
        "Only the chunked transfer coding is understood."
    )
    /// Status 503 while the bodies of other requests fill the memory limit.
    package static let tooManyBytes = Problem(
        503,
        "too-many-bytes",
        "Busy",
        "Too many bytes of other requests are in memory. Try again.",
        retryAfter: 1
    )
    /// Status 503 when the hourly limit of unverified bytes is reached.
    package static let hourlyLimit = Problem(
        503,
        "hourly-limit",
        "Hourly limit reached",
        "This process has stored as many unverified bytes as it may in an hour. Try again later.",
        retryAfter: 60
    )
    /// Status 503 during shutdown.
    package static let shuttingDown = Problem(
        503,
        "shutting-down",
        "Shutting down",
        "This process accepts no new requests. Try again.",
        retryAfter: 1
    )

    /// Status 405 for a method that the resource does not support.
    package static func methodNotAllowed(allow: String) -> Problem {
        Problem(405, "method-not-allowed", "Method not allowed", "Use one of the methods in the Allow field.", allow: allow)
    }

    /// Status 413 for a body above the limit.
    package static func contentTooLarge(limit: Int) -> Problem {
        Problem(413, "content-too-large", "Content too large", "The body may have at most \(limit) bytes.")
    }

    /// Status 503 while this program cannot work with a database that answers: another schema, or a role without the needed privileges.
    ///
    /// - Parameter reason: what is wrong, and what to do.
    package static func databaseRefused(_ reason: String) -> Problem {
        Problem(503, "database-refused", "Database refused", reason, retryAfter: 5)
    }

    /// Status 503 while the database does not answer.
    package static func databaseUnavailable(retryAfter: Int) -> Problem {
        Problem(503, "database-unavailable", "Database unavailable", "The database is unavailable. Try again.", retryAfter: retryAfter)
    }
}

extension Problem {
    /// The problem as an answer.
    var response: Response {
        var headers: HTTPHeaders = ["content-type": Self.mediaType]
        if let retryAfter { headers.add(name: "retry-after", value: "\(retryAfter)") }
        if let allow { headers.add(name: "allow", value: allow) }
        if let challenge { headers.add(name: "www-authenticate", value: challenge) }
        return Response(status: HTTPResponseStatus(statusCode: status), headers: headers, body: ByteBuffer(string: json))
    }
}
