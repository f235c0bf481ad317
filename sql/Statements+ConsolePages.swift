package import Postgres

/// The statements of the console's pages about events, customers, repairs and what goes out; each file documents its statement.
extension StatementFile {
    package static let consoleAttempts = StatementFile(name: "console_attempts", bytes: PackageResources.console_attempts_sql)
    package static let consoleBeginRepair = StatementFile(name: "console_begin_repair", bytes: PackageResources.console_begin_repair_sql)
    package static let consoleCountRepair = StatementFile(name: "console_count_repair", bytes: PackageResources.console_count_repair_sql)
    package static let consoleDiscardEvents = StatementFile(
        name: "console_discard_events",
        bytes: PackageResources.console_discard_events_sql
    )
    package static let consoleEndpoint = StatementFile(name: "console_endpoint", bytes: PackageResources.console_endpoint_sql)
    package static let consoleExplainContract = StatementFile(
        name: "console_explain_contract",
        bytes: PackageResources.console_explain_contract_sql
    )
    package static let consoleFindEvents = StatementFile(name: "console_find_events", bytes: PackageResources.console_find_events_sql)
    package static let consoleForget = StatementFile(name: "console_forget", bytes: PackageResources.console_forget_sql)
    package static let consoleLinkOwner = StatementFile(name: "console_link_owner", bytes: PackageResources.console_link_owner_sql)
    package static let consoleOutgoing = StatementFile(name: "console_outgoing", bytes: PackageResources.console_outgoing_sql)
    package static let consoleOwnership = StatementFile(name: "console_ownership", bytes: PackageResources.console_ownership_sql)
    package static let consoleRepairs = StatementFile(name: "console_repairs", bytes: PackageResources.console_repairs_sql)
    package static let consoleReport = StatementFile(name: "console_report", bytes: PackageResources.console_report_sql)
    package static let consoleRequeueEvents = StatementFile(
        name: "console_requeue_events",
        bytes: PackageResources.console_requeue_events_sql
    )
    package static let consoleShowBody = StatementFile(name: "console_show_body", bytes: PackageResources.console_show_body_sql)
    package static let consoleStopRepair = StatementFile(name: "console_stop_repair", bytes: PackageResources.console_stop_repair_sql)
    package static let consoleTakeRepairStep = StatementFile(
        name: "console_take_repair_step",
        bytes: PackageResources.console_take_repair_step_sql
    )

    /// All of this file.
    package static let consolePages = [
        consoleAttempts, consoleBeginRepair, consoleCountRepair, consoleDiscardEvents, consoleEndpoint, consoleExplainContract,
        consoleFindEvents, consoleForget, consoleLinkOwner, consoleOutgoing, consoleOwnership, consoleRepairs, consoleReport,
        consoleRequeueEvents, consoleShowBody, consoleStopRepair, consoleTakeRepairStep,
    ]
}
