/// Why a body was not accepted. The caller must send it again.
package struct GroupCommitError: Error, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value {
            case full, unavailable, notCommitted, shuttingDown, timedOut, incomplete
        }

        private let value: Value

        /// The queue of waiting bodies is full.
        package static let full = Code(value: .full)
        /// The latest batch failed, and no probe has succeeded since.
        package static let unavailable = Code(value: .unavailable)
        /// The commit of the batch with this body was not confirmed. The body may be stored.
        package static let notCommitted = Code(value: .notCommitted)
        /// The process is shutting down and accepts no more bodies.
        package static let shuttingDown = Code(value: .shuttingDown)

        /// The database did not answer in time; only used as a cause.
        package static let timedOut = Code(value: .timedOut)
        /// The database did not return one event id for each body; only used as a cause.
        package static let incomplete = Code(value: .incomplete)

        package var description: String {
            switch value {
            case .full: "too many bodies wait"
            case .unavailable: "the database accepts no bodies"
            case .notCommitted: "the commit is not confirmed"
            case .shuttingDown: "the process shuts down"
            case .timedOut: "the database did not answer in time"
            case .incomplete: "the database did not store each body"
            }
        }
    }

    /// The kind of failure.
    package let code: Code
    /// How long the caller should wait before it tries again.
    package let retryAfter: Duration
    /// The error from the database, if there is one.
    package let cause: (any Error)?

    /// Always true: a body is never refused because of its content.
    package var isRetryable: Bool { true }

    package var description: String {
        guard let cause else { return "\(code)" }
        return "\(code): \(cause)"
    }

    init(_ code: Code, retryAfter: Duration = .seconds(1), cause: (any Error)? = nil) {
        self.code = code
        self.retryAfter = retryAfter
        self.cause = cause
    }
}
