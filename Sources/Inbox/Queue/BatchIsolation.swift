import Logging
import Postgres

/// Merges a batch so that one bad event does not stop the others: when a statement fails, the batch is split around it, with the claim
/// kept.
struct BatchIsolation<Prepared: Sendable> {
    let merge: InboxQueue<Prepared>.Merge
    let transaction: Transaction
    let metrics: QueueMetrics
    let logger: Logger

    /// How often a batch is repeated when it only lost against another one. A conflict that lasts longer is treated as any other error: the
    /// events that it is about back off, instead of keeping the head of the queue busy for ever.
    private static var maximumRepeats: Int { 3 }

    /// One settlement for each prepared event, in order. Throws only what says that the transaction itself is lost.
    func settlements(for prepared: ArraySlice<Prepared>) async throws -> [Settlement] {
        do {
            return try await merging(prepared)
        } catch let error as PostgresError where error.endsBatch {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            guard prepared.count > 1 else {
                logger.error("event could not be merged", metadata: ["error": "\(error)"])
                return [.retry(reason: Self.reason(of: error), error: String(describing: error), labels: OutcomeLabels())]
            }
            metrics.split()
            logger.warning("batch is split around an error", metadata: ["batch.events": "\(prepared.count)", "error": "\(error)"])
            let middle = prepared.startIndex + prepared.count / 2
            return try await settlements(for: prepared[..<middle]) + settlements(for: prepared[middle...])
        }
    }

    /// Merges behind a savepoint, again after a deadlock or a lock time-out.
    private func merging(_ prepared: ArraySlice<Prepared>) async throws -> [Settlement] {
        var repeats = 0
        while true {
            do {
                return try await transaction.savepoint("merge") { transaction in try await merge(Array(prepared), transaction) }
            } catch let error as PostgresError where error.isSerializationConflict && repeats < Self.maximumRepeats {
                repeats += 1
                logger.debug("batch is repeated after a conflict", metadata: ["batch.repeats": "\(repeats)", "error": "\(error)"])
            }
        }
    }

    private static func reason(of error: any Error) -> String {
        guard let error = error as? PostgresError else { return "merge_failed" }
        if error.isSerializationConflict { return "conflict" }
        return error.sqlState == .queryCanceled ? "timed_out" : "merge_failed"
    }
}

extension PostgresError {
    /// Whether the batch is to be forgotten, because the error is about its transaction and not about an event in it. A statement that was
    /// cancelled after its time-out (57014) is an event's fault; a server that shuts down (57P01 to 57P03) is nobody's.
    fileprivate var endsBatch: Bool {
        isConnectionLoss || code == .timeout || code == .closed || sqlState == .readOnlyTransaction || sqlState == .idleInTransactionTimeout
    }
}
