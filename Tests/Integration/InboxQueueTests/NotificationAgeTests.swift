import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// How `seen_notifications` ages.
struct NotificationAgeTests {
    private func ages(_ database: TestDatabase) async throws -> [String] {
        try await database.lines(
            "SELECT DISTINCT ((now() AT TIME ZONE 'UTC')::date - seen_on)::text AS age FROM appstore.seen_notifications ORDER BY age"
        )
    }

    @Test func `notifications that are older than the age go, and younger ones stay`() async throws {
        let database = try await InboxDatabase.make()
        for age in [0, 181, 182, 200, 201, 400] { try await MaintenanceBench.seen(1, daysAgo: age, in: database) }
        #expect(try await MaintenanceBench.finish(.ageNotifications, in: database).map(\.rows) == [2])
        #expect(try await ages(database) == ["0", "181", "182", "200"])
        try await MaintenanceBench.execute("UPDATE appstore.retention SET notifications = '181 days'", in: database)
        #expect(try await MaintenanceBench.finish(.ageNotifications, in: database).map(\.rows) == [2])
        #expect(try await ages(database) == ["0", "181"])
    }

    @Test func `the age is longer than Apple's notification history`() async throws {
        let database = try await InboxDatabase.make()
        let error = await #expect(throws: PostgresError.self) {
            try await MaintenanceBench.execute("UPDATE appstore.retention SET notifications = '180 days'", in: database)
        }
        #expect(error?.sqlState?.rawValue == "23514")
    }

    @Test func `a step goes on where the one before ended, and takes 128 blocks at most`() async throws {
        let database = try await InboxDatabase.make()
        // Some 136 rows are in a block.
        try await MaintenanceBench.seen(20_000, daysAgo: 300, in: database)
        try await MaintenanceBench.seen(20_000, daysAgo: 1, in: database)
        try await MaintenanceBench.seen(10, daysAgo: 300, in: database)
        let first = try await database.lines("SELECT count(*)::text FROM appstore.seen_notifications WHERE ctid < '(128,0)'")
        var rows: [Int] = []
        for _ in 0..<4 { rows.append(try await MaintenanceBench.step(.ageNotifications, in: database)?.rows ?? 0) }
        #expect("\(rows[0])" == first[0])
        #expect(rows.reduce(0, +) == 20_010 && rows[1] == 20_000 - rows[0] && rows[2] == 10 && rows[3] == 0)
        #expect(try await ages(database) == ["1"])
        // The fourth step began anew: what has aged since is found in the first blocks.
        try await MaintenanceBench.execute(
            "UPDATE appstore.seen_notifications SET seen_on = seen_on - 300 WHERE first_event_id = 1",
            in: database
        )
        var found = 0
        for _ in 0..<3 { found += try await MaintenanceBench.step(.ageNotifications, in: database)?.rows ?? 0 }
        #expect(found == 1)
    }
}
