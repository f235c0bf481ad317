package import Postgres

/// The statements of the commands for endpoints, and of their metrics; each file documents its statement.
extension StatementFile {
    package static let endpointAttempts = StatementFile(name: "endpoint_attempts", bytes: EmbeddedFiles.endpoint_attempts_sql)
    package static let endpointList = StatementFile(name: "endpoint_list", bytes: EmbeddedFiles.endpoint_list_sql)
    package static let endpointMake = StatementFile(name: "endpoint_make", bytes: EmbeddedFiles.endpoint_make_sql)
    package static let endpointPause = StatementFile(name: "endpoint_pause", bytes: EmbeddedFiles.endpoint_pause_sql)
    package static let endpointReadStatistics = StatementFile(
        name: "endpoint_read_statistics",
        bytes: EmbeddedFiles.endpoint_read_statistics_sql
    )
    package static let endpointRedeliver = StatementFile(name: "endpoint_redeliver", bytes: EmbeddedFiles.endpoint_redeliver_sql)
    package static let endpointRedeliveries = StatementFile(
        name: "endpoint_redeliveries",
        bytes: EmbeddedFiles.endpoint_redeliveries_sql
    )
    package static let endpointRemove = StatementFile(name: "endpoint_remove", bytes: EmbeddedFiles.endpoint_remove_sql)
    package static let endpointResume = StatementFile(name: "endpoint_resume", bytes: EmbeddedFiles.endpoint_resume_sql)
    package static let endpointRotate = StatementFile(name: "endpoint_rotate", bytes: EmbeddedFiles.endpoint_rotate_sql)
    package static let endpointTest = StatementFile(name: "endpoint_test", bytes: EmbeddedFiles.endpoint_test_sql)
    package static let feedEnable = StatementFile(name: "feed_enable", bytes: EmbeddedFiles.feed_enable_sql)
    package static let feedIsOn = StatementFile(name: "feed_is_on", bytes: EmbeddedFiles.feed_is_on_sql)

    /// All of this file.
    package static let endpoints = [
        endpointAttempts, endpointList, endpointMake, endpointPause, endpointReadStatistics, endpointRedeliver, endpointRedeliveries,
        endpointRemove, endpointResume, endpointRotate, endpointTest, feedEnable, feedIsOn,
    ]
}
