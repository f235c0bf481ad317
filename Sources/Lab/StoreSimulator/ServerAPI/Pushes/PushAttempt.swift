package import AppStore

/// One attempt to send a notification.
package struct PushAttempt: Hashable, Sendable {
    /// The server at the app's URL.
    package enum Destination: Hashable, Sendable {
        case inbox, elsewhere
    }

    package let date: Timestamp
    package let result: SendAttemptResult
    package let destination: Destination

    package init(date: Timestamp, result: SendAttemptResult, destination: Destination = .inbox) {
        self.date = date
        self.result = result
        self.destination = destination
    }
}

/// The result of an attempt, `sendAttemptResult`.
package struct SendAttemptResult: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let success = SendAttemptResult(rawValue: "SUCCESS")
    package static let timedOut = SendAttemptResult(rawValue: "TIMED_OUT")
    package static let tlsIssue = SendAttemptResult(rawValue: "TLS_ISSUE")
    package static let circularRedirect = SendAttemptResult(rawValue: "CIRCULAR_REDIRECT")
    package static let noResponse = SendAttemptResult(rawValue: "NO_RESPONSE")
    package static let socketIssue = SendAttemptResult(rawValue: "SOCKET_ISSUE")
    package static let prematureClose = SendAttemptResult(rawValue: "PREMATURE_CLOSE")
    package static let unsuccessfulStatus = SendAttemptResult(rawValue: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
    package static let other = SendAttemptResult(rawValue: "OTHER")

    package static let known: Set = [
        success, timedOut, tlsIssue, circularRedirect, noResponse, socketIssue, prematureClose, unsuccessfulStatus, other,
    ]

    /// The result of an HTTP response.
    package init(status: Int) {
        self = (200...206).contains(status) ? .success : .unsuccessfulStatus
    }
}
