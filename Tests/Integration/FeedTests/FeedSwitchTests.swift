import InboxTesting
import Postgres
import Testing

/// The feed is off until it is enabled, and costs nothing before.
struct FeedSwitchTests {
    private static let derive: Statement =
        "SELECT appstore.derive_ledger('Production', '{}', '{}', '{11111111-1111-4111-8111-111111111111}')"

    @Test func `nothing is written for a feed that is off`() async throws {
        let database = try await InboxDatabase.make()
        try await FeedScene.run("SELECT appstore.create_order('user', 'product')", in: database)
        try await FeedScene.sequence(in: database)
        #expect(try await FeedScene.entries(in: database) == [])
        #expect(
            try await database.lines(
                "SELECT pg_relation_size('appstore.tells') || ' ' || pg_relation_size('appstore.told_access') || ' ' || (SELECT is_called FROM appstore.tells_tell_id_seq)"
            ) == ["0 0 false"]
        )
    }

    @Test func `enabling waits for a transaction that has found the feed off`() async throws {
        let database = try await InboxDatabase.make()
        try await withThrowingTaskGroup { group in
            try await database.withConnection { writer in
                try await writer.withTransaction { transaction in
                    _ = try await transaction.execute(Self.derive)
                    group.addTask { try await FeedScene.run("SELECT appstore.enable_feed()", as: "appstore_operator", in: database) }
                    try await database.awaitLockWaiters(1)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await database.lines("SELECT is_on::text FROM appstore.feed_switch") == ["true"])
        #expect(try await database.lines("SELECT kind FROM appstore.tells") == [])
    }

    @Test func `a transaction that waits for the feed to be enabled tells its changes`() async throws {
        let database = try await InboxDatabase.make()
        try await withThrowingTaskGroup { group in
            try await database.withConnection { writer in
                // The plan is cached while the feed is off.
                for _ in 0..<7 { _ = try await writer.execute(Self.derive) }
                try await database.withConnection(user: "appstore_operator") { operating in
                    try await operating.withTransaction { enabling in
                        _ = try await enabling.execute("SELECT appstore.enable_feed()")
                        group.addTask { _ = try await writer.execute(Self.derive) }
                        try await database.awaitLockWaiters(1)
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(try await database.lines("SELECT kind FROM appstore.tells") == ["order"])
    }

    @Test func `each time that it is enabled begins a generation, and positions go on`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run(FeedScene.tell("a"), in: database)
        try await FeedScene.sequence(in: database)
        try await FeedScene.run(FeedScene.tell("dropped"), in: database)
        try await FeedScene.run("SELECT appstore.disable_feed()", as: "appstore_operator", in: database)
        try await FeedScene.sequence(in: database)
        try await FeedScene.run("SELECT appstore.enable_feed()", as: "appstore_operator", in: database)
        try await FeedScene.run(FeedScene.tell("b"), in: database)
        try await FeedScene.sequence(in: database)
        #expect(try await FeedScene.entries(in: database) == ["1 a", "2 b"])
        #expect(try await database.lines("SELECT (generation > 20000000)::text FROM appstore.feed_head") == ["true"])
        #expect(
            try await database.lines("SELECT action FROM appstore.audit_log ORDER BY audit_id")
                == ["enable_feed", "disable_feed", "enable_feed"]
        )
    }
}
