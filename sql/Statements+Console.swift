package import Postgres

/// The statements of the console's sessions and of its first pages; each file documents its statement.
extension StatementFile {
    package static let consoleAudit = StatementFile(name: "console_audit", bytes: EmbeddedFiles.console_audit_sql)
    package static let consoleAuditNewer = StatementFile(name: "console_audit_newer", bytes: EmbeddedFiles.console_audit_newer_sql)
    package static let consoleBeginSession = StatementFile(name: "console_begin_session", bytes: EmbeddedFiles.console_begin_session_sql)
    package static let consoleConsumption = StatementFile(name: "console_consumption", bytes: EmbeddedFiles.console_consumption_sql)
    package static let consoleEndSession = StatementFile(name: "console_end_session", bytes: EmbeddedFiles.console_end_session_sql)
    package static let consoleEndpoints = StatementFile(name: "console_endpoints", bytes: EmbeddedFiles.console_endpoints_sql)
    package static let consoleFailed = StatementFile(name: "console_failed", bytes: EmbeddedFiles.console_failed_sql)
    package static let consoleLogOut = StatementFile(name: "console_log_out", bytes: EmbeddedFiles.console_log_out_sql)
    package static let consoleMakeLogin = StatementFile(name: "console_make_login", bytes: EmbeddedFiles.console_make_login_sql)
    package static let consoleMinutes = StatementFile(name: "console_minutes", bytes: EmbeddedFiles.console_minutes_sql)
    package static let consoleResults = StatementFile(name: "console_results", bytes: EmbeddedFiles.console_results_sql)
    package static let consoleReadSession = StatementFile(name: "console_read_session", bytes: EmbeddedFiles.console_read_session_sql)
    package static let consoleListSessions = StatementFile(name: "console_list_sessions", bytes: EmbeddedFiles.console_list_sessions_sql)
    package static let consoleUnmatched = StatementFile(name: "console_unmatched", bytes: EmbeddedFiles.console_unmatched_sql)

    /// All of this file.
    package static let console = [
        consoleAudit, consoleAuditNewer, consoleBeginSession, consoleConsumption, consoleEndSession, consoleEndpoints, consoleFailed,
        consoleLogOut, consoleMakeLogin, consoleMinutes, consoleResults, consoleReadSession, consoleListSessions, consoleUnmatched,
    ]
}
