import HTTPServing

/// The problems of taking notifications.
extension Problem {
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

    /// Status 503 for a full queue.
    static func queueFull(retryAfter: Int) -> Problem {
        Problem(503, "queue-full", "Busy", "Too many requests wait for the database. Try again.", retryAfter: retryAfter)
    }

    /// Status 503 for a body whose commit was not confirmed.
    static func notCommitted(retryAfter: Int) -> Problem {
        Problem(503, "not-committed", "Not committed", "The database did not confirm the commit. Send it again.", retryAfter: retryAfter)
    }
}
