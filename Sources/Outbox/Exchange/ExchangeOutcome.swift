/// What came of a request.
package enum ExchangeOutcome: Sendable {
    case answer(HTTPAnswer)
    case failure(ExchangeFailure)
}

/// An answer, whatever its status.
package struct HTTPAnswer: Sendable {
    package let status: Int
    /// What its Retry-After field asks for, where that is a number of seconds.
    package let retryAfter: Duration?
    package let body: [UInt8]

    package init(status: Int, retryAfter: Duration? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

extension HTTPAnswer: CustomStringConvertible, CustomReflectable {
    /// Of the body, only how long it is.
    package var description: String { "status \(status), \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}

/// Why there is no answer; the raw value is the code that is stored and shown.
package enum ExchangeFailure: String, CaseIterable, Sendable {
    case timedOut = "timed_out"
    /// No connection, or one that broke.
    case connectionFailed = "connection_failed"
    /// The other side's certificate is not in order, or no TLS could be spoken.
    case tlsFailed = "tls_failed"
    /// More bytes than are taken.
    case answerTooLarge = "answer_too_large"
    /// The address cannot be one: a setting is wrong.
    case invalidAddress = "invalid_address"
    /// This process shuts down.
    case shuttingDown = "shutting_down"
}
