package import Postgres
import SQL

/// Uses a receipt as it is when Apple's answer about it cannot be used.
package enum OutboundFallback {
    /// - Parameter answers: events that answer calls. Calls without a fallback, and calls that already fell back, are skipped.
    package static func fallBack(from answers: [Int64], in transaction: Transaction) async throws {
        try await transaction.execute(.fallBackFromAnswers(answerEventIDs: answers.sorted()))
    }
}
