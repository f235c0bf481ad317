package import Postgres
import SQL

/// The budgets by endpoint and environment, from `appstore.api_budget_status`.
package struct BudgetStatistics: Hashable, Statistics {
    package struct Budget: Hashable, Sendable {
        package let endpoint: String
        package let environment: String
        /// What was used in this hour, of the app that has used most.
        package let usedRatio: Double
        /// The rest of the longest block by a 429.
        package let blockedSeconds: Double
    }

    package let budgets: [Budget]

    /// For the role worker.
    package static let statement = Statement.serverAPIReadBudgets()

    package init(_ row: Row) throws {
        let endpoints: [String] = try row.decode("endpoints", as: [String]?.self) ?? []
        let environments: [String] = try row.decode("environments", as: [String]?.self) ?? []
        let ratios: [Double] = try row.decode("used_ratios", as: [Double]?.self) ?? []
        let blocked: [Double] = try row.decode("blocked_seconds", as: [Double]?.self) ?? []
        budgets = endpoints.indices.map { index in
            Budget(
                endpoint: endpoints[index],
                environment: environments[index],
                usedRatio: ratios[index],
                blockedSeconds: max(0, blocked[index])
            )
        }
    }
}
