package import Postgres
import SQL

/// What is done beside the live path: partitions and ageing. Each step is one short transaction, and one that is interrupted has done
/// nothing.
package enum MaintenanceTask: String, CaseIterable, Sendable {
    /// A partition ahead of the events, or the end of one whose time is over.
    case preparePartitions = "prepare_partitions"
    /// Checks a partition that gets no new events, of the inbox or of the outcomes, until it can be dropped.
    case dropPartition = "drop_partition"
    /// Bodies of rejected events in which nothing could be verified.
    case ageRejectedBodies = "age_rejected_bodies"
    /// Bodies in the default partition of the inbox, which is never dropped.
    case ageDefaultBodies = "age_default_bodies"
    case ageRejectedOutcomes = "age_rejected_outcomes"
    /// Outcomes in the default partition.
    case ageDefaultOutcomes = "age_default_outcomes"
    /// Notifications that Apple repeats no more.
    case ageNotifications = "age_notifications"
    /// Calls of the outbox that were settled long ago, and those that no worker made by their deadline, which are given up.
    case ageCalls = "age_calls"
    /// Partitions of the feed.
    case ageFeed = "age_feed"
    /// Attempts to deliver, and deliveries whose entry is gone.
    case ageDeliveries = "age_deliveries"
    /// Consumption requests that a policy answers shortly before they are due.
    case answerConsumption = "answer_consumption"
    /// Records and closed windows of the notification history.
    case ageHistory = "age_history"
    /// Bodies that imports brought.
    case ageImportedBodies = "age_imported_bodies"
    /// Items of imports that ended long ago, and files that broke off.
    case ageImports = "age_imports"

    /// The longest rest after a step that found nothing to do.
    var longestRest: Duration {
        switch self {
        case .preparePartitions, .ageRejectedBodies, .ageRejectedOutcomes, .ageNotifications, .ageDeliveries, .ageHistory,
            .ageImportedBodies, .ageImports, .answerConsumption:
            .seconds(60)
        case .dropPartition, .ageFeed: .seconds(300)
        case .ageCalls: .seconds(30)
        case .ageDefaultBodies, .ageDefaultOutcomes: .seconds(3600)
        }
    }

    /// The rest between two steps of work, so that the live path has the disk.
    static let pause: Duration = .milliseconds(100)

    /// For how long a step waits for the lock of a whole table, unless it has failed before. Other sessions queue behind it meanwhile.
    package static let lockTimeout: Duration = .milliseconds(100)

    /// Takes one step.
    ///
    /// - Parameter lockTimeout: for steps that lock a whole table. With another one than the usual, a step has no limit of time.
    /// - Returns: What was done to how many rows, and whether there may be more; nil when there was nothing to do, or when another worker
    ///   does it.
    package func step(on connection: Connection, lockTimeout: Duration = Self.lockTimeout) async throws -> Step? {
        let statement = statement(lockTimeout: "\(lockTimeout.milliseconds)")
        let rows =
            lockTimeout == Self.lockTimeout
            ? try await connection.query(statement)
            : try await connection.withTransaction { transaction in
                // The role's timeout is for statements that others wait for. What this one reads at length, it reads beside them.
                _ = try await transaction.query("SELECT set_config('statement_timeout', '0', true)")
                return try await transaction.query(statement)
            }
        return try rows.first.map { row in
            Step(did: try row.decode("did"), rows: Int(try row.decode("rows", as: Int64.self)), hasMore: try row.decode("has_more"))
        }
    }

    /// Whether its steps change partitions, which takes a lock on all of the table.
    var locksTables: Bool {
        switch self {
        case .preparePartitions, .dropPartition, .ageFeed: true
        default: false
        }
    }

    /// What a step did.
    package struct Step: Sendable, Hashable {
        /// A few words for the log, such as `made inbox_from_10000000`.
        package let did: String
        package let rows: Int
        package let hasMore: Bool
    }

    private func statement(lockTimeout: String) -> Statement {
        switch self {
        case .preparePartitions: Statement(.maintenancePartitions, ["lock_timeout": lockTimeout])
        case .dropPartition: Statement(.maintenanceDropPartition, ["lock_timeout": lockTimeout])
        case .ageRejectedBodies: Statement(.maintenanceExpire, ["walk": "rejected_bodies"])
        case .ageDefaultBodies: Statement(.maintenanceExpire, ["walk": "default_bodies"])
        case .ageRejectedOutcomes: Statement(.maintenanceExpire, ["walk": "rejected_outcomes"])
        case .ageDefaultOutcomes: Statement(.maintenanceExpire, ["walk": "default_outcomes"])
        case .ageNotifications: Statement(.maintenanceExpireNotifications)
        case .ageCalls: Statement(.maintenanceExpireCalls)
        case .ageFeed: Statement(.maintenanceExpireFeed, ["lock_timeout": lockTimeout])
        case .ageDeliveries: Statement(.maintenanceExpireDeliveries)
        case .answerConsumption: Statement(.maintenanceAnswerConsumption)
        case .ageHistory: Statement(.maintenanceExpireHistory)
        case .ageImportedBodies: Statement(.maintenanceExpire, ["walk": "imported_bodies"])
        case .ageImports: Statement(.maintenanceExpireImports)
        }
    }
}
