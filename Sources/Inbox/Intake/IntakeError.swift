/// Why a body was not accepted. Nothing of it is kept: the sender has to send it again.
package struct IntakeError: Error, CustomStringConvertible {
    /// What stood in the way.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case full, unavailable, notCommitted, shuttingDown, timedOut, incomplete
        }

        private let value: Value

        /// As many bodies are waiting as may wait.
        package static let full = Code(value: .full)
        /// The database did not take the latest batch, and no probe has succeeded since.
        package static let unavailable = Code(value: .unavailable)
        /// The batch with this body was sent, and its commit was not confirmed. It may be stored all the same.
        package static let notCommitted = Code(value: .notCommitted)
        /// The intake takes nothing new, because the process ends.
        package static let shuttingDown = Code(value: .shuttingDown)

        /// The database did not answer in time; only seen as a cause.
        package static let timedOut = Code(value: .timedOut)
        /// The database named fewer or more events than there were bodies; only seen as a cause.
        package static let incomplete = Code(value: .incomplete)

        package var description: String { value.rawValue }
    }

    /// What stood in the way.
    package let code: Code
    /// How long the sender should wait before it tries again.
    package let retryAfter: Duration
    /// The error of the database, when there was one.
    package let cause: (any Error)?

    /// Always true: a body is never refused for what is in it.
    package var isRetryable: Bool { true }

    package var description: String {
        guard let cause else { return "intake: \(code)" }
        return "intake: \(code): \(cause)"
    }

    init(_ code: Code, retryAfter: Duration = .seconds(1), cause: (any Error)? = nil) {
        self.code = code
        self.retryAfter = retryAfter
        self.cause = cause
    }
}
