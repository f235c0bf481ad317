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
}
