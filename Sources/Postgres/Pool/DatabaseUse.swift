package import Logging
package import ServiceSupport

/// The use of the database by one service, which logs once that it fails, and once that it works again. The pool reports an outage.
package struct DatabaseUse: Sendable {
    private let user: String
    private let logger: Logger
    private let failing = EdgeTrigger()

    /// - Parameter user: the service in the log's words, such as `the outbox`.
    package init(by user: String, logger: Logger) {
        self.user = user
        self.logger = logger
    }

    package func succeeded() {
        if failing.ended() { logger.notice("\(user) can use the database again") }
    }

    /// Logs the first failure as a warning; false when the error is only the end of this task, or of the process, which closes the pool.
    @discardableResult
    package func failed(_ error: any Error) -> Bool {
        if Task.isCancelled || (error as? PostgresError)?.code == .closed { return false }
        let level: Logger.Level = !error.isDatabaseOutage && failing.began() ? .warning : .debug
        logger.log(level: level, "\(user) cannot use the database", metadata: ["error": "\(error)"])
        return true
    }

    /// Takes one step after the other until graceful shutdown or cancellation. Rests after each for as long as it says, and backs off while
    /// steps fail.
    package func takeSteps(backingOff backoff: Backoff, _ step: () async throws -> Duration) async {
        var backoff = backoff
        var generator = SystemRandomNumberGenerator()
        while !Task.isEnding {
            do {
                let rest = try await step()
                succeeded()
                backoff.reset()
                await Task.rest(for: rest)
            } catch {
                failed(error)
                await Task.rest(for: backoff.next(using: &generator))
            }
        }
    }
}
