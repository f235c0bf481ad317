package import Postgres
import SQL

/// What the reconciliation has asked and found, of all workers.
package struct ReconcileStatistics: Hashable, Statistics {
    package struct Rule: Hashable, Sendable {
        package let name: String
        package let questions: Int64
        /// Those whose answer changed the ledger.
        package let changed: Int64
    }

    /// Every rule, also those that have asked nothing.
    package let rules: [Rule]
    /// The share of the sample of the last 30 days that was wrong; nil without an answer.
    package let wrongRatio: Double?

    /// For the role worker.
    package static let statement = Statement.reconcileStatistics()

    package init(_ row: Row) throws {
        let names: [String] = try row.decode("rules")
        let questions: [Int64] = try row.decode("questions")
        let changed: [Int64] = try row.decode("changed")
        rules = names.indices.map { Rule(name: names[$0], questions: questions[$0], changed: changed[$0]) }
        wrongRatio = try row.decode("wrong_ratio")
    }
}
