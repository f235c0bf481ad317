package import Postgres

/// The statements of the outbox; each file documents its statement.
extension StatementFile {
    package static let outboxLeaseCalls = StatementFile(name: "outbox_lease_calls", bytes: EmbeddedFiles.outbox_lease_calls_sql)
    package static let outboxReleaseCall = StatementFile(name: "outbox_release_call", bytes: EmbeddedFiles.outbox_release_call_sql)
    package static let outboxAnswerCall = StatementFile(name: "outbox_answer_call", bytes: EmbeddedFiles.outbox_answer_call_sql)
    package static let outboxEndCall = StatementFile(name: "outbox_end_call", bytes: EmbeddedFiles.outbox_end_call_sql)
    package static let outboxPostponeCall = StatementFile(name: "outbox_postpone_call", bytes: EmbeddedFiles.outbox_postpone_call_sql)
    package static let outboxReadStatistics = StatementFile(
        name: "outbox_read_statistics",
        bytes: EmbeddedFiles.outbox_read_statistics_sql
    )

    /// All of this file.
    package static let outbox = [
        outboxLeaseCalls, outboxReleaseCall, outboxAnswerCall, outboxEndCall, outboxPostponeCall, outboxReadStatistics,
    ]
}
