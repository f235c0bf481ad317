package import Postgres

/// The open calls in numbers.
package struct OutboxStatistics: Hashable, Sendable {
    /// Calls that are neither answered nor ended; up to ``countedTo``, which means as many or more.
    package let open: Int64
    /// Since the oldest of them was asked for; nil when there is none.
    package let oldest: Duration?

    package static let countedTo: Int64 = 10_000

    /// What asks for it; for role worker.
    package static let statement = Statement(
        name: "outbox_statistics",
        """
        SELECT count(*) AS open, extract(epoch FROM statement_timestamp() - min(first.asked_at))::float8 AS oldest
        FROM (SELECT c.asked_at FROM appstore.outbox AS c WHERE c.state = 'open' ORDER BY c.asked_at, c.call_id LIMIT 10000) AS first
        """
    )

    /// Reads the answer to ``statement``.
    package init(_ row: Row) throws {
        open = try row.decode("open")
        oldest = try row.decode("oldest", as: Double?.self).map { .seconds(max($0, 0)) }
    }
}
