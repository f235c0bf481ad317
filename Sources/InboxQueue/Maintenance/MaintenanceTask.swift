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
        try await connection.withTransaction { try await step(in: $0, lockTimeout: lockTimeout) }
    }

    /// Takes one step in the caller's transaction.
    package func step(in transaction: Transaction, lockTimeout: Duration = Self.lockTimeout) async throws -> Step? {
        if locksTables {
            // The role's timeout is for statements that others wait for. What a step reads at length, it reads beside them.
            let isLimited = lockTimeout == Self.lockTimeout
            _ = try await transaction.query(.limitStep(lockTimeout: "\(lockTimeout.milliseconds)", isLimited: isLimited))
        }
        return try await work(in: transaction)
    }

    /// Whether its steps change partitions, which takes a lock on all of the table.
    var locksTables: Bool {
        switch self {
        case .preparePartitions, .dropPartition, .ageFeed: true
        default: false
        }
    }

    private func work(in transaction: Transaction) async throws -> Step? {
        switch self {
        case .preparePartitions: try await named(.preparePartitions(), in: transaction)
        case .ageFeed: try await named(.expireFeed(), in: transaction)
        case .dropPartition:
            try await transaction.query(.dropAgedPartition()).first.map { row in
                Step(
                    did: "\(try row.decode("did", as: String.self)) \(try row.decode("partition", as: String.self))",
                    rows: try row.decode("events")
                )
            }
        case .ageRejectedBodies: try await expired("rejected_bodies", in: transaction)
        case .ageDefaultBodies: try await expired("default_bodies", in: transaction)
        case .ageRejectedOutcomes: try await expired("rejected_outcomes", in: transaction)
        case .ageDefaultOutcomes: try await expired("default_outcomes", in: transaction)
        case .ageImportedBodies: try await expired("imported_bodies", in: transaction)
        case .ageNotifications: try await counted("expired notifications", .expireNotifications(), in: transaction)
        case .ageCalls: try await counted("expired calls", .expireCalls(), in: transaction)
        case .ageDeliveries: try await counted("expired deliveries", .expireDeliveries(), in: transaction)
        case .ageHistory: try await counted("expired history", .expireHistory(), in: transaction)
        case .ageImports: try await counted("expired imports", .expireImports(), in: transaction)
        case .answerConsumption:
            try await counted("answered consumption requests by policy", .applyConsumptionPolicies(), in: transaction).map {
                Step(did: $0.did, rows: $0.rows, hasMore: $0.rows == Self.policiesOfStep)
            }
        }
    }

    /// How many requests a step of ``answerConsumption`` decides at most.
    private static let policiesOfStep = 500

    /// A step whose function returns what it did, or null.
    private func named(_ statement: Statement, in transaction: Transaction) async throws -> Step? {
        try await transaction.query(statement)[0].decode(0, as: String?.self).map { Step(did: $0) }
    }

    /// A step whose function returns to how many rows it did something, null while another worker does it.
    private func counted(_ did: String, _ statement: Statement, in transaction: Transaction) async throws -> Step? {
        let rows = try await transaction.query(statement)[0].decode(0, as: Int?.self) ?? 0
        return rows > 0 ? Step(did: did, rows: rows) : nil
    }

    /// A step of a walk of `appstore.expire`.
    private func expired(_ walk: String, in transaction: Transaction) async throws -> Step? {
        guard let row = try await transaction.query(.expire(walk: walk)).first else { return nil }
        let (checked, deleted) = try row.decode((Int.self, Int.self))
        return checked > 0 || deleted > 0 ? Step(did: "expired \(walk)", rows: deleted, hasMore: checked > 0) : nil
    }

    /// What a step did.
    package struct Step: Sendable, Hashable {
        /// A few words for the log, such as `made inbox_from_10000000`.
        package let did: String
        package var rows = 0
        package var hasMore = true
    }
}
