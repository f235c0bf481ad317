import Logging
import Postgres

/// A body that cannot be read, from a damaged disk say, fails the statement that reads it with all others, and every later one. So for a while
/// after such an error bodies are read one by one.
extension InboxQueue {
    /// An event whose body cannot be read.
    typealias Unreadable = (event: ClaimedEvent, error: String)

    /// Reads what the inbox has of claimed events.
    ///
    /// - Parameter timeouts: Of the later statements of the transaction; nil for those of the role.
    /// - Throws: what is not about one event.
    func read(
        _ keys: [ClaimedEvent],
        timeouts: ClaimedBatch.Timeouts?,
        in transaction: Transaction
    ) async throws -> (events: [ClaimedEvent], unreadable: [Unreadable]) {
        guard memory.isWary else {
            let rows = try await transaction.query(ClaimedBatch.bodies(of: keys.map(\.eventID), timeouts: timeouts))
            return (try ClaimedBatch.events(keys, with: rows), [])
        }
        var events: [ClaimedEvent] = []
        var unreadable: [Unreadable] = []
        for key in keys {
            do {
                let rows = try await transaction.savepoint("body") {
                    try await $0.query(ClaimedBatch.bodies(of: [key.eventID], timeouts: nil))
                }
                events += try ClaimedBatch.events([key], with: rows)
            } catch let error as PostgresError where error.mayBeOfBody {
                logger.error("an event's body cannot be read", metadata: ["event.id": "\(key.eventID)", "error": "\(error)"])
                unreadable.append((key, "its body cannot be read: \(error)"))
            }
        }
        if let timeouts { _ = try await transaction.query(ClaimedBatch.set(timeouts)) }
        return (events, unreadable)
    }
}

extension PostgresError {
    /// Whether the bodies of a batch may not have been read because of one of them: data that is damaged (XX), or cannot be read from the disk
    /// (58030). What else a server lacks, a right or memory say, it lacks for all events, which must not be put off one by one for that.
    var mayBeOfBody: Bool {
        code == .sql && (sqlState.map { $0.conditionClass == "XX" || $0.rawValue == "58030" } ?? false)
    }
}
