package import Postgres

/// The statements of the commands for endpoints, and of their metrics; each file documents its statement.
extension StatementFile {
    package static let endpointAttempts = StatementFile(name: "endpoint_attempts", bytes: PackageResources.endpoint_attempts_sql)
    package static let endpointList = StatementFile(name: "endpoint_list", bytes: PackageResources.endpoint_list_sql)
    package static let endpointMake = StatementFile(name: "endpoint_make", bytes: PackageResources.endpoint_make_sql)
    package static let endpointPause = StatementFile(name: "endpoint_pause", bytes: PackageResources.endpoint_pause_sql)
    package static let endpointReadStatistics = StatementFile(
        name: "endpoint_read_statistics",
        bytes: PackageResources.endpoint_read_statistics_sql
    )
    package static let endpointRedeliver = StatementFile(name: "endpoint_redeliver", bytes: PackageResources.endpoint_redeliver_sql)
    package static let endpointRedeliveries = StatementFile(
        name: "endpoint_redeliveries",
        bytes: PackageResources.endpoint_redeliveries_sql
    )
    package static let endpointRemove = StatementFile(name: "endpoint_remove", bytes: PackageResources.endpoint_remove_sql)
    package static let endpointResume = StatementFile(name: "endpoint_resume", bytes: PackageResources.endpoint_resume_sql)
    package static let endpointRotate = StatementFile(name: "endpoint_rotate", bytes: PackageResources.endpoint_rotate_sql)
    package static let endpointTest = StatementFile(name: "endpoint_test", bytes: PackageResources.endpoint_test_sql)
    package static let feedEnable = StatementFile(name: "feed_enable", bytes: PackageResources.feed_enable_sql)
    package static let feedIsOn = StatementFile(name: "feed_is_on", bytes: PackageResources.feed_is_on_sql)

    /// All of this file.
    package static let endpoints = [
        endpointAttempts, endpointList, endpointMake, endpointPause, endpointReadStatistics, endpointRedeliver, endpointRedeliveries,
        endpointRemove, endpointResume, endpointRotate, endpointTest, feedEnable, feedIsOn,
    ]
}
