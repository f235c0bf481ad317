package import Postgres
import SQL

/// How far the history is read, and its records by class, of all workers.
package struct HistoryStatistics: Hashable, Statistics {
    package struct Environment: Hashable, Sendable {
        package let name: String
        /// Since the end of the time that was read without a hole; of the app that is behind most.
        package let coveredAge: Double
        /// For how long a window has failed; 0 where none fails.
        package let failing: Double
    }

    package struct Count: Hashable, Sendable {
        package let environment: String
        package let mode: String
        package let `class`: String
        package let records: Int64
    }

    /// What a record can be.
    package static let classes = ["confirmed", "recovered", "taken_elsewhere", "refused_here", "in_flight", "unlisted"]

    package let environments: [Environment]
    package let counts: [Count]

    /// For the role worker.
    package static let statement = Statement.historyStatistics()

    package init(_ row: Row) throws {
        let names: [String] = try row.decode("environments", as: [String]?.self) ?? []
        let ages: [Double] = try row.decode("covered_ages", as: [Double]?.self) ?? []
        let failing: [Double] = try row.decode("failing", as: [Double]?.self) ?? []
        environments = names.indices.map { Environment(name: names[$0], coveredAge: max(0, ages[$0]), failing: max(0, failing[$0])) }
        let counted: [String] = try row.decode("counted_environments", as: [String]?.self) ?? []
        let modes: [String] = try row.decode("modes", as: [String]?.self) ?? []
        let classes: [String] = try row.decode("classes", as: [String]?.self) ?? []
        let records: [Int64] = try row.decode("records", as: [Int64]?.self) ?? []
        counts = counted.indices.map { Count(environment: counted[$0], mode: modes[$0], class: classes[$0], records: records[$0]) }
    }
}
