import Logging
import Postgres

/// A body that cannot be read, from a damaged disk say, fails the claim that would bring it with all others, and every claim after it. So for a
/// while after such an error claims come without bodies, and these are read one by one.
extension InboxQueue {
    /// An event whose body cannot be read.
    typealias Unreadable = (event: ClaimedEvent, error: String)

    /// Reads what the inbox has of claimed events.
    ///
    /// - Throws: what is not about one event.
    func read(_ keys: [ClaimedEvent], in transaction: Transaction) async throws -> (events: [ClaimedEvent], unreadable: [Unreadable]) {
        var events: [ClaimedEvent] = []
        var unreadable: [Unreadable] = []
        for key in keys {
            do {
                let rows = try await transaction.savepoint("body") { try await $0.query(ClaimedBatch.stored(key.eventID)) }
                // As in a claim, what is not there is let go again.
                guard let row = rows.first else { continue }
                events.append(
                    key.with(source: try row.decode("source"), receivedAt: try row.decode("received_at"), body: try row.decode("body"))
                )
            } catch let error as PostgresError where error.mayBeOfBody {
                logger.error("an event's body cannot be read", metadata: ["event.id": "\(key.eventID)", "error": "\(error)"])
                unreadable.append((key, "its body cannot be read: \(error)"))
            }
        }
        return (events, unreadable)
    }
}

extension PostgresError {
    /// Whether a claim may have failed because of a body in it: data that is damaged (XX), or cannot be read from the disk (58030). What else a
    /// server lacks, a right or memory say, it lacks for all events, which must not be put off one by one for that.
    var mayBeOfBody: Bool {
        code == .sql && (sqlState.map { $0.conditionClass == "XX" || $0.rawValue == "58030" } ?? false)
    }
}
