package import Postgres
import SQL
import ServiceSupport

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
        try await work.read(connection.pipeline(statements(lockTimeout)))
    }

    /// Takes one step in the caller's transaction.
    package func step(in transaction: Transaction, lockTimeout: Duration = Self.lockTimeout) async throws -> Step? {
        try await work.read(transaction.pipeline(statements(lockTimeout)))
    }

    /// Whether its steps change partitions, which takes a lock on all of the table.
    var locksTables: Bool {
        switch self {
        case .preparePartitions, .dropPartition, .ageFeed: true
        default: false
        }
    }

    /// What is sent in one round trip, so that no lock waits for the client.
    private func statements(_ lockTimeout: Duration) -> [Statement] {
        guard locksTables else { return [work.statement] }
        // The role's timeout is for statements that others wait for. What a step reads at length, it reads beside them.
        let isLimited = lockTimeout == Self.lockTimeout
        return [.limitStep(lockTimeout: "\(lockTimeout.milliseconds)", isLimited: isLimited), work.statement]
    }

    private var work: Work {
        switch self {
        case .preparePartitions: .named(.preparePartitions())
        case .ageFeed: .named(.expireFeed())
        case .dropPartition: .dropped(.dropAgedPartition())
        case .ageRejectedBodies: .expired("rejected_bodies")
        case .ageDefaultBodies: .expired("default_bodies")
        case .ageRejectedOutcomes: .expired("rejected_outcomes")
        case .ageDefaultOutcomes: .expired("default_outcomes")
        case .ageImportedBodies: .expired("imported_bodies")
        case .ageNotifications: .counted("expired notifications", .expireNotifications())
        case .ageCalls: .counted("expired calls", .expireCalls())
        case .ageDeliveries: .counted("expired deliveries", .expireDeliveries())
        case .ageHistory: .counted("expired history", .expireHistory())
        case .ageImports: .counted("expired imports", .expireImports())
        case .answerConsumption: .counted("answered consumption requests by policy", .applyConsumptionPolicies())
        }
    }

    /// The statement of a step, and what its rows mean.
    private struct Work {
        let statement: Statement
        let step: (Rows) throws -> Step?

        /// Reads the rows of the last statement.
        func read(_ results: [Rows]) throws -> Step? { try results.last.flatMap(step) }

        /// A function that returns what it did, or null.
        static func named(_ statement: Statement) -> Work {
            Work(statement: statement) { try $0[0].decode(0, as: String?.self).map { Step(did: $0) } }
        }

        /// A function that returns to how many rows it did something, null while another worker does it.
        static func counted(_ did: String, _ statement: Statement) -> Work {
            Work(statement: statement) { rows in
                let count = try rows[0].decode(0, as: Int?.self) ?? 0
                return count > 0 ? Step(did: did, rows: count) : nil
            }
        }

        /// A walk of `appstore.expire`.
        static func expired(_ walk: String) -> Work {
            Work(statement: .expire(walk: walk)) { rows in
                guard let row = rows.first else { return nil }
                let (checked, deleted) = try row.decode((Int.self, Int.self))
                return checked > 0 || deleted > 0 ? Step(did: "expired \(walk)", rows: deleted, hasMore: checked > 0) : nil
            }
        }

        static func dropped(_ statement: Statement) -> Work {
            Work(statement: statement) { rows in
                try rows.first.map { row in
                    let (did, partition) = (try row.decode("did", as: String.self), try row.decode("partition", as: String.self))
                    return Step(did: "\(did) \(partition)", rows: try row.decode("events"))
                }
            }
        }
    }

    /// What a step did.
    package struct Step: Sendable, Hashable {
        /// A few words for the log, such as `made inbox_from_10000000`.
        package let did: String
        package var rows = 0
        package var hasMore = true
    }
}
