package import Postgres
import SQL

/// What is left of the running imports, of all workers.
package struct ImportStatistics: Hashable, Statistics {
    /// Items that are not settled.
    package let remaining: Int64
    /// Of the import that takes longest; nil while no rate is known.
    package let timeLeft: Double?

    /// For the role worker.
    package static let statement = Statement.importStatistics()

    package init(_ row: Row) throws {
        remaining = try row.decode("remaining")
        timeLeft = try row.decode("eta_seconds")
    }
}
