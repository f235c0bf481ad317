/// The outcome of a request.
package enum ExchangeOutcome: Sendable {
    case answer(HTTPAnswer)
    case failure(ExchangeFailure)
}

/// An answer, whatever its status.
package struct HTTPAnswer: Sendable {
    package let status: Int
    /// The Retry-After field as it was sent: its meaning differs between services.
    package let retryAfter: String?
    /// The Date field as it was sent.
    package let date: String?
    /// What Apple's support asks for: the x-apple-request-uuid field, or x-apple-jingle-correlation-key.
    package let requestID: String?
    package let body: [UInt8]

    package init(status: Int, retryAfter: String? = nil, date: String? = nil, requestID: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.date = date
        self.requestID = requestID
        self.body = body
    }
}

extension HTTPAnswer: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of the body.
    package var description: String { "status \(status), \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}

/// Why there is no answer; the raw value is the code that is stored and shown.
package enum ExchangeFailure: String, CaseIterable, Sendable {
    case timedOut = "timed_out"
    /// The connection could not be opened, or it broke.
    case connectionFailed = "connection_failed"
    /// The server's certificate is not trusted, or the TLS handshake failed.
    case tlsFailed = "tls_failed"
    /// What the server sends is no answer of HTTP, or has a status that does not exist.
    case answerMalformed = "answer_malformed"
    /// The answer is larger than the request allows.
    case answerTooLarge = "answer_too_large"
    /// The address is malformed or too long. A setting is wrong, or what an answer said goes into an address.
    case invalidAddress = "invalid_address"
    /// This process shuts down.
    case shuttingDown = "shutting_down"
}
