import CLibPQ
import Logging

extension ConnectionThread {
    /// The kernel detects a dead peer sooner. After this time a proxy has lost the server, or the standby is unlikely to return.
    private static var commitAnswerTimeout: Duration { .seconds(600) }

    /// After this time it is said. A program that is stopped has closed the connection before.
    private static var commitAnswerNotice: Duration { .seconds(1) }

    /// Keeps the connection open until COMMIT is answered, or until the connection is closed or lost.
    ///
    /// A backend whose COMMIT waits for a synchronous standby does not notice that its client has disconnected, so it stays.
    /// Each replacement connection could add one more such backend, up to the server's connection limit.
    func awaitCommitAnswer() {
        let start = ContinuousClock.now
        var isReported = false
        do throws(PostgresError) {
            while requests.isAwaitingCommit, !hasAnswered() {
                let hasMore = connection.flush()
                switch try SocketPoll.wait(
                    socket: connection.socket,
                    wakeup: requests.wakeup,
                    writes: hasMore,
                    until: start + (isReported ? Self.commitAnswerTimeout : Self.commitAnswerNotice)
                ) {
                case .socket: try connection.consumeInput()
                case .wakeup: break
                case .deadline where isReported: return logger.warning("COMMIT was not answered, closing its connection")
                case .deadline:
                    logger.warning("COMMIT is not answered; its connection keeps its slot until the answer arrives")
                    isReported = true
                }
            }
        } catch {
            logger.debug("connection was lost before COMMIT was answered", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// Reads the results that have arrived; returns whether they are complete.
    private func hasAnswered() -> Bool {
        while !connection.isBusy {
            if connection.nextResult() == nil, connection.transactionStatus != PQTRANS_ACTIVE { return true }
        }
        return false
    }
}
