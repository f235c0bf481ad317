import Postgres
import SQL

/// Apple's consumption requests that are to be answered by policy.
struct ConsumptionStatistics: Statistics {
    /// The number for which Apple waits; ``countedTo`` means as many or more.
    let open: Int64
    /// The time until the first one without a decision is due; nil where there is none.
    let due: Duration?
    /// Those that were missed so far.
    let missed: Int64

    static let countedTo: Int64 = 10_000

    /// For the role worker.
    static let statement = Statement.consumptionStatistics()

    init(_ row: Row) throws {
        open = try row.decode("open")
        due = try row.decode("due")
        missed = try row.decode("missed")
    }
}
