package import Postgres

/// What is done beside the live path: repairs that were requested, partitions, ageing. Each step is one short transaction, and one that
/// is interrupted has done nothing.
package enum MaintenanceTask: String, CaseIterable, Sendable {
    /// The next step of a repair that was requested.
    case repair
    /// A partition ahead of the events, or the end of one whose time is over.
    case preparePartitions = "prepare_partitions"
    /// A look at a partition that gets no new events, until it can be dropped.
    case dropPartition = "drop_partition"
    /// Bodies of what was rejected and anyone could have posted.
    case ageRejectedBodies = "age_rejected_bodies"
    /// Bodies in the default partition.
    case ageDefaultBodies = "age_default_bodies"
    case ageRejectedOutcomes = "age_rejected_outcomes"
    /// Outcomes whose body has gone.
    case ageOutcomes = "age_outcomes"
    /// Calls of the outbox that were settled long ago, and those that nobody has made by their deadline, which are given up.
    case ageCalls = "age_calls"

    /// How long a task rests at most when it found nothing to do.
    var longestRest: Duration {
        switch self {
        case .repair: .milliseconds(500)
        case .preparePartitions, .ageRejectedBodies, .ageRejectedOutcomes: .seconds(60)
        case .dropPartition: .seconds(300)
        case .ageCalls: .seconds(30)
        case .ageDefaultBodies, .ageOutcomes: .seconds(3600)
        }
    }

    /// How long it rests between two steps of work, so that the live path has the disk.
    var pause: Duration {
        switch self {
        case .repair: .milliseconds(10)
        default: .milliseconds(100)
        }
    }

    /// Takes one step.
    ///
    /// - Returns: What was done to how many rows, and whether there may be more; nil when there was nothing to do, or when another worker
    ///   does it.
    package func step(on connection: Connection) async throws -> Step? {
        try await connection.query(statement).first.map { row in
            Step(did: try row.decode("did"), rows: Int(try row.decode("rows", as: Int64.self)), hasMore: try row.decode("has_more"))
        }
    }

    /// What a step did.
    package struct Step: Sendable, Hashable {
        /// A few words for the log, such as `requeue` or `made inbox_from_10000000`.
        package let did: String
        package let rows: Int
        package let hasMore: Bool
    }

    private var statement: Statement {
        switch self {
        case .repair:
            "SELECT action || ' ' || repair_id || ' ' || state AS did, events AS rows, true AS has_more FROM appstore.repair_step()"
        case .preparePartitions:
            """
            SELECT did, 0::bigint AS rows, true AS has_more FROM appstore.prepare_partitions() AS did WHERE did IS NOT NULL
            """
        case .dropPartition:
            "SELECT did || ' ' || partition AS did, kept::bigint AS rows, true AS has_more FROM appstore.drop_aged_partition()"
        case .ageRejectedBodies: Self.age("rejected_bodies")
        case .ageDefaultBodies: Self.age("default_bodies")
        case .ageRejectedOutcomes: Self.age("rejected_outcomes")
        case .ageOutcomes: Self.age("outcomes")
        case .ageCalls:
            "SELECT 'aged calls' AS did, deleted AS rows, true AS has_more FROM appstore.age_calls() AS deleted WHERE deleted > 0"
        }
    }

    private static func age(_ walk: String) -> Statement {
        """
        SELECT 'aged ' || \(walk) AS did, deleted AS rows, looked > 0 AS has_more FROM appstore.age(\(walk)) WHERE looked > 0 OR deleted > 0
        """
    }
}
