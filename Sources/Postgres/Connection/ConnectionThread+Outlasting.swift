import CLibPQ
import Logging

extension ConnectionThread {
    /// The kernel ends a link that is dead. What stays silent for longer is dead behind somebody in between, or waits for a standby that will
    /// hardly come back.
    private static var outlasting: Duration { .seconds(600) }

    /// Stays connected until the answer comes that nobody waits for any more, or until the connection is closed or lost.
    ///
    /// A COMMIT that waits for a synchronous standby does not notice that its client has gone: its process on the server stays, and one more
    /// would come with each connection that takes the place of this one, until the server takes none.
    func outlastAnswer() {
        let deadline = ContinuousClock.now + Self.outlasting
        do throws(PostgresError) {
            while mailbox.isOutlasting, !hasAnswered() {
                switch try SocketWait.wait(socket: link.socket, bell: mailbox.bell, writes: link.flush(), until: deadline) {
                case .socket: try link.consumeInput()
                case .bell: break
                case .deadline: return logger.warning("COMMIT has had no answer, its connection is closed")
                }
            }
        } catch {
            logger.debug("connection was lost before COMMIT was answered", metadata: [LogKey.error: "\(error)"])
        }
    }

    /// Takes what has come, and says whether it was all.
    private func hasAnswered() -> Bool {
        while !link.isBusy {
            if link.nextResult() == nil, link.transactionStatus != PQTRANS_ACTIVE { return true }
        }
        return false
    }
}
