package import Postgres

/// The statements of the queue, of ingest, of the feed and of maintenance; each file documents its statement.
extension StatementFile {
    package static let claim = StatementFile(name: "claim", bytes: EmbeddedFiles.claim_sql)
    package static let claimEvent = StatementFile(name: "claim_event", bytes: EmbeddedFiles.claim_event_sql)
    package static let findUnansweredCommits = StatementFile(
        name: "find_unanswered_commits",
        bytes: EmbeddedFiles.find_unanswered_commits_sql
    )
    package static let maintenanceDropPartition = StatementFile(
        name: "maintenance_drop_partition",
        bytes: EmbeddedFiles.maintenance_drop_partition_sql
    )
    package static let maintenanceExpire = StatementFile(name: "maintenance_expire", bytes: EmbeddedFiles.maintenance_expire_sql)
    package static let maintenanceExpireCalls = StatementFile(
        name: "maintenance_expire_calls",
        bytes: EmbeddedFiles.maintenance_expire_calls_sql
    )
    package static let feedTakeStep = StatementFile(name: "feed_take_step", bytes: EmbeddedFiles.feed_take_step_sql)
    package static let maintenanceExpireDeliveries = StatementFile(
        name: "maintenance_expire_deliveries",
        bytes: EmbeddedFiles.maintenance_expire_deliveries_sql
    )
    package static let maintenanceExpireFeed = StatementFile(
        name: "maintenance_expire_feed",
        bytes: EmbeddedFiles.maintenance_expire_feed_sql
    )
    package static let maintenanceExpireHistory = StatementFile(
        name: "maintenance_expire_history",
        bytes: EmbeddedFiles.maintenance_expire_history_sql
    )
    package static let maintenanceExpireImports = StatementFile(
        name: "maintenance_expire_imports",
        bytes: EmbeddedFiles.maintenance_expire_imports_sql
    )
    package static let maintenanceExpireNotifications = StatementFile(
        name: "maintenance_expire_notifications",
        bytes: EmbeddedFiles.maintenance_expire_notifications_sql
    )
    package static let maintenancePartitions = StatementFile(
        name: "maintenance_partitions",
        bytes: EmbeddedFiles.maintenance_partitions_sql
    )
    package static let markBatch = StatementFile(name: "mark_batch", bytes: EmbeddedFiles.mark_batch_sql)
    package static let postponeEvents = StatementFile(name: "postpone_events", bytes: EmbeddedFiles.postpone_events_sql)
    package static let probeQueue = StatementFile(name: "probe_queue", bytes: EmbeddedFiles.probe_queue_sql)
    package static let readBodies = StatementFile(name: "read_bodies", bytes: EmbeddedFiles.read_bodies_sql)
    package static let readInboxStatistics = StatementFile(name: "read_inbox_statistics", bytes: EmbeddedFiles.read_inbox_statistics_sql)
    package static let receiveBodies = StatementFile(name: "receive_bodies", bytes: EmbeddedFiles.receive_bodies_sql)
    package static let recoverBatches = StatementFile(name: "recover_batches", bytes: EmbeddedFiles.recover_batches_sql)
    package static let reserveIsolated = StatementFile(name: "reserve_isolated", bytes: EmbeddedFiles.reserve_isolated_sql)
    package static let settleBatch = StatementFile(name: "settle_batch", bytes: EmbeddedFiles.settle_batch_sql)
}
