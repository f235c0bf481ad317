import AppStore
import HTTPServing

/// The problems of the notification endpoints.
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

    static let noNotificationType = Problem(
        400,
        "no-notification-type",
        "No notification",
        "The JSON object has neither a member notification_type nor a member signedPayload that is a string."
    )

    /// Status 401 for a shared secret that is missing, duplicated or wrong.
    static var wrongSharedSecret: Problem {
        var problem = Problem(401, "wrong-shared-secret", "Unauthorized", "The member password is not a shared secret of the app.")
        problem.challenge = #"SharedSecret realm="appstore-inbox""#
        return problem
    }

    /// Status 503 when no shared secret is configured for the app. Apple sends the notification again, perhaps after a secret is configured.
    static let noSharedSecret = Problem(
        503,
        "no-shared-secret",
        "No shared secret",
        "No shared secret is configured for the app of this notification.",
        retryAfter: 3600
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

extension Problem {
    /// The answer for a body that is not a notification V2.
    init(_ refusal: NotificationBody.Refusal) {
        self =
            switch refusal {
            case .notJSON: .notJSON
            case .notAnObject: .notAnObject
            case .noSignedPayload: .noSignedPayload
            case .notACompactJWS: .notCompactJWS
            }
    }
}

extension Problem {
    /// The answer for a body that is not a notification V1.
    init(_ refusal: NotificationV1Body.Refusal) {
        self =
            switch refusal {
            case .notJSON: .notJSON
            case .notAnObject: .notAnObject
            case .noNotificationType: .noNotificationType
            }
    }
}

extension Problem {
    /// The answer for a body that was not accepted: the client must send it again.
    init(_ error: GroupCommitError) {
        let retryAfter = max(1, Int(error.retryAfter.components.seconds) + 1)
        switch error.code {
        case .full: self = .queueFull(retryAfter: retryAfter)
        case .shuttingDown: self = .shuttingDown
        case .notCommitted: self = .notCommitted(retryAfter: retryAfter)
        default: self = .databaseUnavailable(retryAfter: retryAfter)
        }
    }
}
