package import Postgres

/// The statements of the queue, of ingest and of maintenance; each file says what its statement is for.
extension StatementFile {
    package static let changeMarker = StatementFile(name: "change_marker", bytes: PackageResources.change_marker_sql)
    package static let claim = StatementFile(name: "claim", bytes: PackageResources.claim_sql)
    package static let claimAgain = StatementFile(name: "claim_again", bytes: PackageResources.claim_again_sql)
    package static let claimIsolated = StatementFile(name: "claim_isolated", bytes: PackageResources.claim_isolated_sql)
    package static let findLostBatches = StatementFile(name: "find_lost_batches", bytes: PackageResources.find_lost_batches_sql)
    package static let findUnsettled = StatementFile(name: "find_unsettled", bytes: PackageResources.find_unsettled_sql)
    package static let holdLostEvents = StatementFile(name: "hold_lost_events", bytes: PackageResources.hold_lost_events_sql)
    package static let isolateLostEvents = StatementFile(name: "isolate_lost_events", bytes: PackageResources.isolate_lost_events_sql)
    package static let lockLostMarkers = StatementFile(name: "lock_lost_markers", bytes: PackageResources.lock_lost_markers_sql)
    package static let maintenanceDropPartition = StatementFile(
        name: "maintenance_drop_partition",
        bytes: PackageResources.maintenance_drop_partition_sql
    )
    package static let maintenanceExpire = StatementFile(name: "maintenance_expire", bytes: PackageResources.maintenance_expire_sql)
    package static let maintenanceExpireCalls = StatementFile(
        name: "maintenance_expire_calls",
        bytes: PackageResources.maintenance_expire_calls_sql
    )
    package static let maintenanceExpireNotifications = StatementFile(
        name: "maintenance_expire_notifications",
        bytes: PackageResources.maintenance_expire_notifications_sql
    )
    package static let maintenancePartitions = StatementFile(
        name: "maintenance_partitions",
        bytes: PackageResources.maintenance_partitions_sql
    )
    package static let markBatch = StatementFile(name: "mark_batch", bytes: PackageResources.mark_batch_sql)
    package static let markIsolated = StatementFile(name: "mark_isolated", bytes: PackageResources.mark_isolated_sql)
    package static let noteLostBatches = StatementFile(name: "note_lost_batches", bytes: PackageResources.note_lost_batches_sql)
    package static let postponeEvents = StatementFile(name: "postpone_events", bytes: PackageResources.postpone_events_sql)
    package static let postponeLostEvents = StatementFile(name: "postpone_lost_events", bytes: PackageResources.postpone_lost_events_sql)
    package static let probeQueue = StatementFile(name: "probe_queue", bytes: PackageResources.probe_queue_sql)
    package static let readBodies = StatementFile(name: "read_bodies", bytes: PackageResources.read_bodies_sql)
    package static let readInboxStatistics = StatementFile(name: "read_inbox_statistics", bytes: PackageResources.read_inbox_statistics_sql)
    package static let receiveBodies = StatementFile(name: "receive_bodies", bytes: PackageResources.receive_bodies_sql)
    package static let removeMarkers = StatementFile(name: "remove_markers", bytes: PackageResources.remove_markers_sql)
    package static let setTimeouts = StatementFile(name: "set_timeouts", bytes: PackageResources.set_timeouts_sql)
    package static let settleBatch = StatementFile(name: "settle_batch", bytes: PackageResources.settle_batch_sql)
}
