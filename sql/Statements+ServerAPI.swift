package import Postgres

/// The statements of the App Store Server API; each file documents its statement.
extension StatementFile {
    package static let serverAPITakeBudget = StatementFile(
        name: "server_api_take_budget",
        bytes: PackageResources.server_api_take_budget_sql
    )
    package static let serverAPIBlockEndpoint = StatementFile(
        name: "server_api_block_endpoint",
        bytes: PackageResources.server_api_block_endpoint_sql
    )
    package static let serverAPIReadBudgets = StatementFile(
        name: "server_api_read_budgets",
        bytes: PackageResources.server_api_read_budgets_sql
    )

    /// All of this file.
    package static let serverAPI = [serverAPITakeBudget, serverAPIBlockEndpoint, serverAPIReadBudgets]
}
