package import Postgres

/// The statements of the notification history; each file documents its statement.
extension StatementFile {
    package static let historyPlan = StatementFile(name: "history_plan", bytes: EmbeddedFiles.history_plan_sql)
    package static let historyLease = StatementFile(name: "history_lease", bytes: EmbeddedFiles.history_lease_sql)
    package static let historyStorePage = StatementFile(name: "history_store_page", bytes: EmbeddedFiles.history_store_page_sql)
    package static let historyPostpone = StatementFile(name: "history_postpone", bytes: EmbeddedFiles.history_postpone_sql)
    package static let historyRestart = StatementFile(name: "history_restart", bytes: EmbeddedFiles.history_restart_sql)
    package static let historyAdvance = StatementFile(name: "history_advance", bytes: EmbeddedFiles.history_advance_sql)
    package static let historyCompare = StatementFile(name: "history_compare", bytes: EmbeddedFiles.history_compare_sql)
    package static let historyClassify = StatementFile(name: "history_classify", bytes: EmbeddedFiles.history_classify_sql)
    package static let historyReadStatistics = StatementFile(
        name: "history_read_statistics",
        bytes: EmbeddedFiles.history_read_statistics_sql
    )
    package static let historyReadCoverage = StatementFile(name: "history_read_coverage", bytes: EmbeddedFiles.history_read_coverage_sql)
    package static let historyReadGaps = StatementFile(name: "history_read_gaps", bytes: EmbeddedFiles.history_read_gaps_sql)
    package static let historyWalk = StatementFile(name: "history_walk", bytes: EmbeddedFiles.history_walk_sql)
    package static let historySetMode = StatementFile(name: "history_set_mode", bytes: EmbeddedFiles.history_set_mode_sql)

    /// All of this file.
    package static let history = [
        historyPlan, historyLease, historyStorePage, historyPostpone, historyRestart, historyAdvance, historyCompare, historyClassify,
        historyReadStatistics, historyReadCoverage, historyReadGaps, historyWalk, historySetMode,
    ]
}
