import Feed
import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import Testing

/// The worker's loop.
struct FeedServiceTests {
    @Test func `services of several workers number what is committed, and end when they are told to`() async throws {
        let database = try await FeedScene.make()
        let pool = try database.pool(user: "appstore_worker")
        let group = ServiceGroup(
            configuration: .init(
                services: (0..<2).map { _ in .init(service: FeedService(pool: pool, logger: .silent)) },
                logger: .silent
            )
        )
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            for round in 1...3 {
                try await FeedScene.run(FeedScene.tell("round \(round)"), in: database)
                try await eventually("round \(round) is told") { try await FeedScene.entries(in: database).count == round }
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
        #expect(try await FeedScene.entries(in: database) == ["1 round 1", "2 round 2", "3 round 3"])
    }

    @Test func `a change that cannot be told holds up only what comes after it, and is reported once`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run(FeedScene.tell("a", "b", "c"), in: database)
        try await FeedScene.run(
            "INSERT INTO appstore.tells (kind, environment, ref) VALUES ('effect', 'Sandbox', 'no effect')",
            in: database
        )
        try await FeedScene.run(FeedScene.tell("d"), in: database)
        let pool = try database.pool(user: "appstore_worker")
        let log = CapturedLog()
        let task = Task { try await FeedService(pool: pool, logger: log.logger).run() }
        try await eventually("the feed stands still", log: log) { log.text.contains("the feed stands still") }
        #expect(try await FeedScene.entries(in: database) == ["1 a", "2 b", "3 c"])
        try await FeedScene.run("DELETE FROM appstore.tells WHERE ref = 'no effect'", in: database)
        try await eventually("it goes on", log: log) { try await FeedScene.entries(in: database) == ["1 a", "2 b", "3 c", "4 d"] }
        let reports = log.text.split(separator: "\n").compactMap { $0.split(separator: " ").first }.filter {
            $0 != "debug" && $0 != "trace"
        }
        // Once small enough, a step tells what comes before. The next ones fail until the change is alone.
        #expect(reports == ["warning", "notice", "warning", "error", "notice"], "\(log.text)")
        task.cancel()
        try await task.value
        await pool.close()
    }
}
