import AppStoreVerification
import Inbox
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
    let books: BooksExcerpt?
    /// How the event's fact about a charge stands to the register; nil when it has none.
    let transaction: FactStanding?
    /// The same for the contract's renewal.
    let subscription: FactStanding?

    /// Reads it without changing anything; nil when there is no such event.
    static func read(_ eventID: Int64, from connection: Connection, verifier: Verifier) async throws -> Explanation? {
        try await connection.withTransaction { transaction in
            _ = try await transaction.pipeline([
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", "SET LOCAL TIME ZONE 'UTC'",
            ])
            guard let record = try await InboxRecord.read(eventID, in: transaction) else { return nil }
            let event = record.claimed
            let reading = if let event { EventReading(event, verifier: verifier) } else { nil as EventReading? }
            guard let subject = ExplainedSubject(record, facts: reading?.facts) else {
                return Explanation(record: record, reading: reading, subject: nil, books: nil, transaction: nil, subscription: nil)
            }
            let books = try await BooksExcerpt.read(subject, in: transaction)
            let others =
                books.holds(reading?.facts) ? [] : try await relatedFacts(subject, in: transaction, verifier: verifier)
            return Explanation(record: record, reading: reading, subject: subject, books: books, others: others)
        }
    }

    /// Whether a configured root vouches for the part's signature; it may be refused all the same.
    func isGenuine(_ part: SignedPart) -> Bool {
        let checks = reading?.trace?.parts.first { $0.location == part.location }?.checks ?? []
        return checks.contains { $0.step == .signature && $0.result == .ok }
    }

    private init(record: InboxRecord, reading: EventReading?, subject: ExplainedSubject, books: BooksExcerpt, others: [EventFacts]) {
        let charge = reading?.facts?.transaction.map { fact in
            let versions = others.compactMap { other in
                other.transaction.flatMap { $0.key == fact.key ? (eventID: other.eventID, version: $0.version) : nil }
            }
            return FactStanding(of: fact.version, held: books.transaction?.version, others: versions)
        }
        let renewal = reading?.facts?.subscription.map { fact in
            let versions = others.compactMap { other in
                other.subscription.flatMap { $0.key == fact.key ? (eventID: other.eventID, version: $0.version) : nil }
            }
            return FactStanding(of: fact.version, held: books.subscription?.version, others: versions)
        }
        self.init(record: record, reading: reading, subject: subject, books: books, transaction: charge, subscription: renewal)
    }

    private init(
        record: InboxRecord,
        reading: EventReading?,
        subject: ExplainedSubject?,
        books: BooksExcerpt?,
        transaction: FactStanding?,
        subscription: FactStanding?
    ) {
        self.record = record
        self.reading = reading
        self.subject = subject
        self.books = books
        self.transaction = transaction
        self.subscription = subscription
    }

    /// What the latest other events about the same contract say; they tell which one brought what a register holds.
    private static func relatedFacts(
        _ subject: ExplainedSubject,
        in transaction: Transaction,
        verifier: Verifier
    ) async throws -> [EventFacts] {
        let events = try await transaction.query(BooksQuery.relatedEvents(subject)).map { row in
            ClaimedEvent(
                eventID: try row.decode("event_id"),
                source: try row.decode("source"),
                receivedAt: try row.decode("received_at"),
                claimedAt: try row.decode("now"),
                attempts: 0,
                body: try row.decode("body")
            )
        }
        return events.map(EventProcessor(verifier: verifier).prepare).compactMap { prepared in
            if case .facts(let facts, _) = prepared { facts } else { nil }
        }
    }
}

extension BooksExcerpt {
    /// Whether the registers hold all that the facts say; true also when there are none.
    fileprivate func holds(_ facts: EventFacts?) -> Bool {
        facts.map { facts in
            (facts.transaction == nil || facts.transaction?.version == transaction?.version)
                && (facts.subscription == nil || facts.subscription?.version == subscription?.version)
        } ?? true
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
