package import Postgres

/// The statements of the App Store Server API; each file documents its statement.
extension StatementFile {
    package static let serverAPITakeBudget = StatementFile(
        name: "server_api_take_budget",
        bytes: EmbeddedFiles.server_api_take_budget_sql
    )
    package static let serverAPIBlockEndpoint = StatementFile(
        name: "server_api_block_endpoint",
        bytes: EmbeddedFiles.server_api_block_endpoint_sql
    )
    package static let serverAPIReadBudgets = StatementFile(
        name: "server_api_read_budgets",
        bytes: EmbeddedFiles.server_api_read_budgets_sql
    )
    package static let appleAsk = StatementFile(name: "apple_ask", bytes: EmbeddedFiles.apple_ask_sql)
    package static let appleSetToken = StatementFile(name: "apple_set_token", bytes: EmbeddedFiles.apple_set_token_sql)
    package static let appleFinish = StatementFile(name: "apple_finish", bytes: EmbeddedFiles.apple_finish_sql)
    package static let appleExtend = StatementFile(name: "apple_extend", bytes: EmbeddedFiles.apple_extend_sql)
    package static let appleExtendAll = StatementFile(name: "apple_extend_all", bytes: EmbeddedFiles.apple_extend_all_sql)
    package static let appleCall = StatementFile(name: "apple_call", bytes: EmbeddedFiles.apple_call_sql)
    package static let shopRequestApple = StatementFile(name: "shop_request_apple", bytes: EmbeddedFiles.shop_request_apple_sql)
    package static let shopReadCall = StatementFile(name: "shop_read_call", bytes: EmbeddedFiles.shop_read_call_sql)
    package static let doctorServerAPI = StatementFile(name: "doctor_server_api", bytes: EmbeddedFiles.doctor_server_api_sql)
    package static let doctorTestArrived = StatementFile(name: "doctor_test_arrived", bytes: EmbeddedFiles.doctor_test_arrived_sql)

    /// All of this file.
    package static let serverAPI = [
        serverAPITakeBudget, serverAPIBlockEndpoint, serverAPIReadBudgets, appleAsk, appleSetToken, appleFinish, appleExtend,
        appleExtendAll, appleCall, shopRequestApple, shopReadCall, doctorServerAPI, doctorTestArrived,
    ]
}
