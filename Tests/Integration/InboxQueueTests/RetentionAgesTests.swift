import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Ages other than those that apply by default, and events on both sides of each.
struct RetentionAgesTests {
    /// An age that is set, and what its task takes by it.
    struct Age: Sendable, CustomTestStringConvertible {
        let task: MaintenanceTask
        let setting: String
        let age: String
        /// The ages beside it, none of which draws the line where it does.
        let others: String
        /// What it is set to afterwards, so that what was too young is old enough.
        let shorter: String
        /// The kinds of events of which it takes the bodies, and of which it takes the outcomes.
        let bodies: [String]
        let outcomes: [String]

        var testDescription: String { "\(setting) = \(age)" }
    }

    /// What has gone.
    struct Taken: Sendable, Hashable {
        let bodies: [String]
        let outcomes: [String]
    }

    /// Shorter and longer than by default, where by default anything goes.
    static let settings: [Age] = [
        ages(
            ["2 hours", "12 days"],
            of: "rejected_bodies",
            .ageRejectedBodies,
            "rejected_outcomes = '100 days'",
            "1 hour",
            bodies: ["junk"]
        ),
        ages(
            ["2 days", "90 days"],
            of: "rejected_outcomes",
            .ageRejectedOutcomes,
            "rejected_bodies = '1 hour'",
            "2 hours",
            bodies: ["junk"],
            outcomes: ["junk"]
        ),
        ages(
            ["2 days", "200 days"],
            of: "bodies",
            .ageDefaultBodies,
            "rejected_bodies = '1 hour', outcomes = '400 days'",
            "1 day",
            bodies: ["applied", "contract", "failed", "junk", "odd", "verified"]
        ),
        ages(["3 days", "300 days"], of: "outcomes", .ageDefaultOutcomes, "bodies = '2 days'", "2 days", outcomes: ["bare"]),
    ].flatMap(\.self)

    private static func ages(
        _ ages: [String],
        of setting: String,
        _ task: MaintenanceTask,
        _ others: String,
        _ shorter: String,
        bodies: [String] = [],
        outcomes: [String] = []
    ) -> [Age] {
        ages.map {
            Age(task: task, setting: setting, age: $0, others: others, shorter: shorter, bodies: bodies, outcomes: outcomes)
        }
    }

    @Test(arguments: settings)
    func `what is older than the age that is set goes, and what is younger goes when the age is shortened`(age: Age) async throws {
        let database = try await InboxDatabase.make()
        // Bodies in the default partition go one by one.
        try await MaintenanceBench.dropFirstPartitions(in: database)
        try await MaintenanceBench.execute("UPDATE appstore.retention SET \(age.others), \(age.setting) = '\(age.age)'", in: database)
        try await settle(around: age.age, in: database)
        let old = Taken(bodies: age.bodies.map { "\($0) old" }, outcomes: age.outcomes.map { "\($0) old" })
        #expect(try await taken(by: age.task, in: database) == old)
        #expect(try await taken(by: age.task, in: database) == Taken(bodies: [], outcomes: []))

        try await MaintenanceBench.execute("UPDATE appstore.retention SET \(age.setting) = '\(age.shorter)'", in: database)
        let rest = Taken(
            bodies: age.bodies.flatMap { ["\($0) late", "\($0) young"] },
            outcomes: age.outcomes.flatMap { ["\($0) late", "\($0) young"] }
        )
        #expect(try await taken(by: age.task, in: database) == rest)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["1"])
    }

    @Test(arguments: ["2 days", "200 days"])
    func `a partition takes the bodies with it that are older than the age that is set, and no others`(age: String) async throws {
        let database = try await MaintenanceBench.partitioned(bodies: age)
        try await settle(around: age, in: database)
        // No new event can come into it.
        try await MaintenanceBench.execute("SELECT setval('appstore.inbox_event_id', 1001000)", in: database)
        let old = Taken(bodies: ["applied old", "contract old", "failed old", "junk old", "odd old", "verified old"], outcomes: [])
        #expect(try await taken(by: .dropPartition, in: database) == old)
        #expect(try await database.lines("SELECT DISTINCT tableoid::regclass::text FROM appstore.inbox") == ["appstore.inbox_default"])
    }

    @Test(arguments: [("4 days", "1 day"), ("80 days", "10 days"), ("400 days", "50 days")])
    func `a partition is closed after an eighth of the age of bodies, and not before a day`(bodies: String, time: String) async throws {
        let database = try await MaintenanceBench.partitioned(bodies: bodies)
        try await MaintenanceBench.settled(1, result: "applied", age: "\(time) -10 minutes", in: database)
        #expect(try await MaintenanceBench.prepare(in: database) == ["made outcomes_from_1016000", "made inbox_from_1002000"])
        try await MaintenanceBench.execute("UPDATE appstore.inbox SET received_at = received_at - interval '20 minutes'", in: database)
        #expect(try await MaintenanceBench.prepare(in: database) == ["closed inbox_from_1000000", "made inbox_from_1003000"])
    }

    @Test(arguments: [(1000, []), (1001, ["closed inbox_from_1000000"])])
    func `a partition that has grown large is closed after a twenty-fourth of the age of bodies`(events: Int, closed: [String]) async throws
    {
        let database = try await MaintenanceBench.partitioned(events: 3000, bodies: "72 days")
        try await MaintenanceBench.execute("UPDATE appstore.retention SET partition_events = 1000", in: database)
        try await MaintenanceBench.settled(events, result: "applied", age: "3 days -10 minutes", in: database)
        #expect(try await MaintenanceBench.prepare(in: database) == [])
        try await MaintenanceBench.execute("UPDATE appstore.inbox SET received_at = received_at - interval '20 minutes'", in: database)
        #expect(try await MaintenanceBench.prepare(in: database) == closed)
    }

    @Test func `no partition is closed or made by time while bodies do not age`() async throws {
        let database = try await MaintenanceBench.partitioned(bodies: nil)
        try await MaintenanceBench.settled(1, result: "applied", age: "4 years", in: database)
        _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
        let partitions: Statement = "SELECT partition FROM appstore.inbox_partitions ORDER BY 1"
        let before = try await database.lines(partitions)
        try await MaintenanceBench.execute("UPDATE appstore.inbox SET received_at = received_at - interval '4 years'", in: database)
        #expect(try await MaintenanceBench.finish(.preparePartitions, in: database) == [])
        #expect(try await MaintenanceBench.finish(.dropPartition, in: database) == [])
        #expect(try await database.lines(partitions) == before)
        try await MaintenanceBench.settled(1, result: "applied", in: database)
        #expect(try await database.lines("SELECT max(event_id)::text FROM appstore.inbox") == ["1000001"], "the ids go on")
    }

    /// Takes the steps of a task until there is nothing to do, and tells what they took.
    private func taken(by task: MaintenanceTask, in database: TestDatabase) async throws -> Taken {
        let bodies: Statement = "SELECT convert_from(body, 'UTF8') FROM appstore.inbox"
        let outcomes: Statement = "SELECT reason FROM appstore.outcomes"
        let (bodiesBefore, outcomesBefore) = (Set(try await database.lines(bodies)), Set(try await database.lines(outcomes)))
        _ = try await MaintenanceBench.finish(task, in: database)
        #expect(try await database.eventsNotExactlyOnce() == [])
        return Taken(
            bodies: bodiesBefore.subtracting(try await database.lines(bodies)).sorted(),
            outcomes: outcomesBefore.subtracting(try await database.lines(outcomes)).sorted()
        )
    }

    /// Of each kind an event ten minutes older than the age, one ten minutes younger, and one that was received before and settled late;
    /// and one that waits. The reason of each outcome and each body name their event.
    ///
    /// Of the bare ones there is the outcome alone; of the junk nothing could be verified.
    private func settle(around age: String, in database: TestDatabase) async throws {
        try await MaintenanceBench.execute(
            """
            WITH named AS MATERIALIZED (
                SELECT nextval('appstore.inbox_event_id') AS event_id, kind || ' ' || side AS name, result, label,
                       now() - interval '\(age)' - received * interval '10 minutes' AS received_at,
                       now() - interval '\(age)' - settled * interval '10 minutes' AS settled_at
                FROM (VALUES ('applied', 'applied', 'TEST'), ('bare', 'applied', 'TEST'), ('failed', 'failed', NULL),
                             ('junk', 'rejected', NULL), ('verified', 'rejected', 'TEST'), ('contract', 'rejected', NULL),
                             ('odd', 'rejected', NULL)) AS kinds (kind, result, label)
                CROSS JOIN (VALUES ('old', 1, 1), ('late', 1, -1), ('young', -1, -1)) AS sides (side, received, settled)
            ), stored AS (
                INSERT INTO appstore.inbox (event_id, source, received_at, body)
                SELECT event_id, 'notification_v2', received_at, convert_to(name, 'UTF8') FROM named WHERE name NOT LIKE 'bare %'
            )
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, notification_type,
                                           original_transaction_id, odd_members)
            SELECT event_id, 'notification_v2', received_at, settled_at, 1, 1, result::appstore.result, name, label,
                   CASE WHEN name LIKE 'contract %' THEN '7' END, CASE WHEN name LIKE 'odd %' THEN ARRAY['version'] END FROM named;
            WITH waiting AS (
                INSERT INTO appstore.inbox (source, received_at, body)
                SELECT 'notification_v2', now() - interval '\(age)' - interval '1 day', convert_to('waiting', 'UTF8') RETURNING *
            )
            INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
            SELECT event_id, received_at, octet_length(body) FROM waiting;
            """,
            in: database
        )
    }
}
