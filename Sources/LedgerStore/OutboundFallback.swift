package import Postgres
import SQL

/// How a receipt counts as it is when Apple's answer about it cannot be used.
package enum OutboundFallback {
    /// - Parameter answers: events that answer calls. Those whose call has no fallback, or had it before, stay without.
    package static func speak(insteadOf answers: [Int64], in transaction: Transaction) async throws {
        try await transaction.execute(Statement(.fallBackFromAnswers, ["answer_event_ids": answers.sorted()]))
    }
}
