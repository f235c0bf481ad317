package import Postgres

/// The statements of the operator's commands, and the first statement of each session; each file documents its statement.
extension StatementFile {
    package static let adoptRoleSettings = StatementFile(name: "adopt_role_settings", bytes: EmbeddedFiles.adopt_role_settings_sql)
    package static let doctorDisk = StatementFile(name: "doctor_disk", bytes: EmbeddedFiles.doctor_disk_sql)
    package static let doctorRoles = StatementFile(name: "doctor_roles", bytes: EmbeddedFiles.doctor_roles_sql)
    package static let doctorServer = StatementFile(name: "doctor_server", bytes: EmbeddedFiles.doctor_server_sql)
    package static let explainBody = StatementFile(name: "explain_body", bytes: EmbeddedFiles.explain_body_sql)
    package static let explainEvent = StatementFile(name: "explain_event", bytes: EmbeddedFiles.explain_event_sql)
    package static let explainRelatedEvents = StatementFile(
        name: "explain_related_events",
        bytes: EmbeddedFiles.explain_related_events_sql
    )
    package static let explainSession = StatementFile(name: "explain_session", bytes: EmbeddedFiles.explain_session_sql)
    package static let explainVersions = StatementFile(name: "explain_versions", bytes: EmbeddedFiles.explain_versions_sql)
    package static let replayEvents = StatementFile(name: "replay_events", bytes: EmbeddedFiles.replay_events_sql)
    package static let repairCount = StatementFile(name: "repair_count", bytes: EmbeddedFiles.repair_count_sql)
    package static let repairCountNamed = StatementFile(name: "repair_count_named", bytes: EmbeddedFiles.repair_count_named_sql)
    package static let repairRequeueEvent = StatementFile(name: "repair_requeue_event", bytes: EmbeddedFiles.repair_requeue_event_sql)
    package static let repairDiscardEvent = StatementFile(name: "repair_discard_event", bytes: EmbeddedFiles.repair_discard_event_sql)
    package static let repairRequeueEvents = StatementFile(name: "repair_requeue_events", bytes: EmbeddedFiles.repair_requeue_events_sql)
    package static let repairDiscardEvents = StatementFile(name: "repair_discard_events", bytes: EmbeddedFiles.repair_discard_events_sql)
    package static let repairTakeStep = StatementFile(name: "repair_take_step", bytes: EmbeddedFiles.repair_take_step_sql)
    package static let statusResults = StatementFile(name: "status_results", bytes: EmbeddedFiles.status_results_sql)
    package static let tailBegin = StatementFile(name: "tail_begin", bytes: EmbeddedFiles.tail_begin_sql)
    package static let tailEvents = StatementFile(name: "tail_events", bytes: EmbeddedFiles.tail_events_sql)
    package static let tailPosition = StatementFile(name: "tail_position", bytes: EmbeddedFiles.tail_position_sql)
    package static let userPage = StatementFile(name: "user_page", bytes: EmbeddedFiles.user_page_sql)

    /// All of this file.
    package static let commands = [
        adoptRoleSettings, doctorDisk, doctorRoles, doctorServer, explainBody, explainEvent, explainRelatedEvents, explainSession,
        explainVersions, replayEvents, repairCount,
        repairCountNamed, repairRequeueEvent, repairDiscardEvent, repairRequeueEvents,
        repairDiscardEvents, repairTakeStep, statusResults, tailBegin, tailEvents, tailPosition, userPage,
    ]
}
