import AppStoreVerification
import InboxQueue
import Ledger
import Postgres
import Worker

/// Everything that is known of one event, all of one instant.
struct Explanation {
    let record: InboxRecord
    /// Nil when the body has been dropped.
    let reading: EventReading?
    /// Nil when nothing of the event has ever been verified.
    let subject: ExplainedSubject?
    let books: LedgerExcerpt?
    let standings: FactStatuses

    /// Reads it without changing anything; nil when there is no such event.
    static func read(_ eventID: Int64, from connection: Connection, processor: EventProcessor) async throws -> Explanation? {
        try await connection.withTransaction { transaction in
            _ = try await transaction.pipeline([
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET LOCAL TIME ZONE 'UTC'",
            ])
            guard let record = try await InboxRecord.read(eventID, in: transaction) else { return nil }
            let event = record.claimed
            let reading = if let event { EventReading(event, processor: processor) } else { nil as EventReading? }
            guard let subject = ExplainedSubject(record, reading) else {
                return Explanation(record: record, reading: reading, subject: nil, books: nil, standings: FactStatuses())
            }
            let books = try await LedgerExcerpt.read(subject, in: transaction)
            let others =
                books.holds(reading?.facts) ? [] : try await relatedFacts(subject, in: transaction, processor: processor)
            let standings = reading?.facts.map { FactStatuses(of: $0, in: books, others: others) } ?? FactStatuses()
            return Explanation(record: record, reading: reading, subject: subject, books: books, standings: standings)
        }
    }

    /// Whether a configured root vouches for the part's signature; it may be refused all the same.
    func isGenuine(_ part: SignedPart) -> Bool {
        reading?.checks.isGenuine(part.location) ?? false
    }

    /// What the latest other events about the same contract say; they tell which one brought what a register holds.
    private static func relatedFacts(
        _ subject: ExplainedSubject,
        in transaction: Transaction,
        processor: EventProcessor
    ) async throws -> [EventFacts] {
        let events = try await transaction.query(LedgerQuery.relatedEvents(subject)).map { row in
            ClaimedEvent(
                eventID: try row.decode("event_id"),
                source: try row.decode("source"),
                receivedAt: try row.decode("received_at"),
                claimedAt: try row.decode("now"),
                attempts: 0,
                body: try row.decode("body")
            )
        }
        return events.map(processor.prepare).compactMap { prepared in
            if case .facts(let facts, _) = prepared { facts } else { nil }
        }
    }
}

extension InboxRecord {
    /// The event as if it were claimed now; nil without its body.
    fileprivate var claimed: ClaimedEvent? {
        body.map {
            ClaimedEvent(eventID: eventID, source: source, receivedAt: receivedAt, claimedAt: readAt, attempts: 0, body: $0)
        }
    }
}
