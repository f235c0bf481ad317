extension Problem {
    static let malformedRequest = Problem(400, "malformed-request", "Malformed request", "The bytes are not a valid HTTP/1.1 request.")
    static let notJSON = Problem(400, "not-json", "Not JSON", "The body is not valid JSON (RFC 8259).")
    static let notAnObject = Problem(400, "not-an-object", "Not a JSON object", "The body is JSON, but not an object.")
    static let noSignedPayload = Problem(
        400,
        "no-signed-payload",
        "No signedPayload",
        "The JSON object has no member signedPayload that is a string."
    )
    static let notCompactJWS = Problem(
        400,
        "not-compact-jws",
        "Not a compact JWS",
        "signedPayload is not three base64url parts with dots between them."
    )
    static let notFound = Problem(404, "not-found", "Not found", "Nothing is served under this path.")
    static let requestTimeout = Problem(408, "request-timeout", "Request timeout", "The request was not complete in time.")
    static let lengthRequired = Problem(411, "length-required", "Length required", "Send Content-Length or the chunked transfer coding.")
    static let unsupportedMediaType = Problem(415, "unsupported-media-type", "Unsupported media type", "Send application/json.")
    static let contentEncodingRefused = Problem(
        415,
        "content-encoding-refused",
        "Content coding refused",
        "Send the body without Content-Encoding."
    )
    static let expectationFailed = Problem(417, "expectation-failed", "Expectation failed", "Only Expect: 100-continue is understood.")
    static let headTooLarge = Problem(
        431,
        "head-too-large",
        "Request header fields too large",
        "The request line and header fields exceed the limit."
    )
    static let transferCodingUnknown = Problem(
        501,
        "transfer-coding-unknown",
        "Transfer coding not implemented",
        "Only the chunked transfer coding is understood."
    )
    static let tooManyBytes = Problem(
        503,
        "too-many-bytes",
        "Busy",
        "Too many bytes of other requests are in memory. Try again.",
        retryAfter: 1
    )
    static let hourlyLimit = Problem(
        503,
        "hourly-limit",
        "Hourly limit reached",
        "This process has stored as many unverified bytes as it may in an hour. Try again later.",
        retryAfter: 60
    )
    static let shuttingDown = Problem(503, "shutting-down", "Shutting down", "This process takes nothing new. Try again.", retryAfter: 1)

    /// Status 405 for a resource that knows other methods.
    static func methodNotAllowed(allow: String) -> Problem {
        Problem(405, "method-not-allowed", "Method not allowed", "Use one of the methods in the Allow field.", allow: allow)
    }

    /// Status 413 for a body above the limit.
    static func contentTooLarge(limit: Int) -> Problem {
        Problem(413, "content-too-large", "Content too large", "The body may have at most \(limit) bytes.")
    }

    /// Status 503 for a full queue.
    static func queueFull(retryAfter: Int) -> Problem {
        Problem(503, "queue-full", "Busy", "Too many requests wait for the database. Try again.", retryAfter: retryAfter)
    }

    /// Status 503 while the database takes nothing.
    static func databaseUnavailable(retryAfter: Int) -> Problem {
        Problem(503, "database-unavailable", "Database unavailable", "The database takes nothing. Try again.", retryAfter: retryAfter)
    }

    /// Status 503 for a body whose commit was not confirmed.
    static func notCommitted(retryAfter: Int) -> Problem {
        Problem(503, "not-committed", "Not committed", "The database did not confirm the commit. Send it again.", retryAfter: retryAfter)
    }
}
