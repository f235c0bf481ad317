package import Postgres
import SQL

/// The statistics of open calls, from `appstore.outbox_statistics()`.
package struct OutboxStatistics: Hashable, Statistics {
    /// The number of open calls; ``countedTo`` means as many or more.
    package let open: Int64
    /// The age of the oldest counted call, by the database's clock; nil when there is none.
    package let oldest: Duration?

    package static let countedTo: Int64 = 10_000

    /// Reads the statistics; for the role worker.
    package static let statement = Statement.outboxStatistics()

    /// Decodes a row of ``statement``.
    package init(_ row: Row) throws {
        open = try row.decode("open")
        oldest = try row.decode("oldest", as: Duration?.self).map { max($0, .zero) }
    }
}
