package import Postgres

/// The statements of the console's pages about events, customers, repairs and what goes out; each file documents its statement.
extension StatementFile {
    package static let consoleAttempts = StatementFile(name: "console_attempts", bytes: EmbeddedFiles.console_attempts_sql)
    package static let consoleBeginRepair = StatementFile(name: "console_begin_repair", bytes: EmbeddedFiles.console_begin_repair_sql)
    package static let consoleCountRepair = StatementFile(name: "console_count_repair", bytes: EmbeddedFiles.console_count_repair_sql)
    package static let consoleDiscardEvents = StatementFile(
        name: "console_discard_events",
        bytes: EmbeddedFiles.console_discard_events_sql
    )
    package static let consoleEndpoint = StatementFile(name: "console_endpoint", bytes: EmbeddedFiles.console_endpoint_sql)
    package static let consoleExplainContract = StatementFile(
        name: "console_explain_contract",
        bytes: EmbeddedFiles.console_explain_contract_sql
    )
    package static let consoleFindEvents = StatementFile(name: "console_find_events", bytes: EmbeddedFiles.console_find_events_sql)
    package static let consoleForget = StatementFile(name: "console_forget", bytes: EmbeddedFiles.console_forget_sql)
    package static let consoleLinkOwner = StatementFile(name: "console_link_owner", bytes: EmbeddedFiles.console_link_owner_sql)
    package static let consoleOutgoing = StatementFile(name: "console_outgoing", bytes: EmbeddedFiles.console_outgoing_sql)
    package static let consoleOwnership = StatementFile(name: "console_ownership", bytes: EmbeddedFiles.console_ownership_sql)
    package static let consoleRepairs = StatementFile(name: "console_repairs", bytes: EmbeddedFiles.console_repairs_sql)
    package static let consoleReport = StatementFile(name: "console_report", bytes: EmbeddedFiles.console_report_sql)
    package static let consoleRequeueEvents = StatementFile(
        name: "console_requeue_events",
        bytes: EmbeddedFiles.console_requeue_events_sql
    )
    package static let consoleShowBody = StatementFile(name: "console_show_body", bytes: EmbeddedFiles.console_show_body_sql)
    package static let consoleStopRepair = StatementFile(name: "console_stop_repair", bytes: EmbeddedFiles.console_stop_repair_sql)
    package static let consoleTakeRepairStep = StatementFile(
        name: "console_take_repair_step",
        bytes: EmbeddedFiles.console_take_repair_step_sql
    )

    /// All of this file.
    package static let consolePages = [
        consoleAttempts, consoleBeginRepair, consoleCountRepair, consoleDiscardEvents, consoleEndpoint, consoleExplainContract,
        consoleFindEvents, consoleForget, consoleLinkOwner, consoleOutgoing, consoleOwnership, consoleRepairs, consoleReport,
        consoleRequeueEvents, consoleShowBody, consoleStopRepair, consoleTakeRepairStep,
    ]
}
