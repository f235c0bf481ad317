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

    /// Takes one step.
    ///
    /// - Returns: What was done to how many rows, and whether there may be more; nil when there was nothing to do, or when another worker
    ///   does it.
    package func step(on connection: Connection) async throws -> Step? {
        switch self {
        case .preparePartitions: try await named(.preparePartitions(), on: connection)
        case .ageFeed: try await named(.expireFeed(), on: connection).map { Step(did: "dropped \($0.did)") }
        case .dropPartition:
            try await connection.query(.dropAgedPartition()).first.map { row in
                Step(
                    did: "\(try row.decode("did", as: String.self)) \(try row.decode("partition", as: String.self))",
                    rows: try row.decode("events")
                )
            }
        case .ageRejectedBodies: try await expired("rejected_bodies", on: connection)
        case .ageDefaultBodies: try await expired("default_bodies", on: connection)
        case .ageRejectedOutcomes: try await expired("rejected_outcomes", on: connection)
        case .ageDefaultOutcomes: try await expired("default_outcomes", on: connection)
        case .ageImportedBodies: try await expired("imported_bodies", on: connection)
        case .ageNotifications: try await counted("expired notifications", .expireNotifications(), on: connection)
        case .ageCalls: try await counted("expired calls", .expireCalls(), on: connection)
        case .ageDeliveries: try await counted("expired deliveries", .expireDeliveries(), on: connection)
        case .ageHistory: try await counted("expired history", .expireHistory(), on: connection)
        case .ageImports: try await counted("expired imports", .expireImports(), on: connection)
        case .answerConsumption:
            try await counted("answered consumption requests by policy", .applyConsumptionPolicies(), on: connection).map {
                Step(did: $0.did, rows: $0.rows, hasMore: $0.rows == Self.policiesOfStep)
            }
        }
    }

    /// How many requests a step of ``answerConsumption`` decides at most.
    private static let policiesOfStep = 500

    /// A step whose function returns what it did, or null.
    private func named(_ statement: Statement, on connection: Connection) async throws -> Step? {
        try await connection.query(statement)[0].decode(0, as: String?.self).map { Step(did: $0) }
    }

    /// A step whose function returns to how many rows it did something, null while another worker does it.
    private func counted(_ did: String, _ statement: Statement, on connection: Connection) async throws -> Step? {
        let rows = try await connection.query(statement)[0].decode(0, as: Int?.self) ?? 0
        return rows > 0 ? Step(did: did, rows: rows) : nil
    }

    /// A step of a walk of `appstore.expire`.
    private func expired(_ walk: String, on connection: Connection) async throws -> Step? {
        guard let row = try await connection.query(.expire(walk: walk)).first else { return nil }
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
