package import Postgres

/// The statements of the reconciliation; each file documents its statement.
extension StatementFile {
    package static let reconcileTakeStep = StatementFile(name: "reconcile_take_step", bytes: EmbeddedFiles.reconcile_take_step_sql)
    package static let reconcileReadStatistics = StatementFile(
        name: "reconcile_read_statistics",
        bytes: EmbeddedFiles.reconcile_read_statistics_sql
    )
    package static let reconcileReadStatus = StatementFile(name: "reconcile_read_status", bytes: EmbeddedFiles.reconcile_read_status_sql)
    package static let reconcileAsk = StatementFile(name: "reconcile_ask", bytes: EmbeddedFiles.reconcile_ask_sql)

    /// All of this file.
    package static let reconcile = [reconcileTakeStep, reconcileReadStatistics, reconcileReadStatus, reconcileAsk]
}
