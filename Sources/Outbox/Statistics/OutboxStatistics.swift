package import Postgres
import SQL

/// The open calls in numbers, as `appstore.outbox_statistics()` gives them.
package struct OutboxStatistics: Hashable, Sendable {
    /// Calls that are neither answered nor ended; up to ``countedTo``, which means as many or more.
    package let open: Int64
    /// Since the oldest of those that were counted was asked for, by the database's clock; nil when there is none.
    package let oldest: Duration?

    package static let countedTo: Int64 = 10_000

    /// What asks for it; for role worker.
    package static let statement = Statement(.outboxReadStatistics)

    /// Reads the answer to ``statement``.
    package init(_ row: Row) throws {
        open = try row.decode("open")
        oldest = try row.decode("oldest", as: Double?.self).map { .seconds(max($0, 0)) }
    }
}
