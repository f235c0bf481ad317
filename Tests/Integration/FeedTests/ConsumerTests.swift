import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Named consumers, and how long the feed is kept for them.
struct ConsumerTests {
    private static func take(_ count: Int, on connection: Connection) async throws -> [String] {
        try await connection.query("SELECT t.user_id FROM appstore.take('mailer', \(count)) AS t").map { try $0.decode(0, as: String.self) }
    }

    private static func make() async throws -> TestDatabase {
        let database = try await FeedScene.make()
        try await FeedScene.run("SELECT appstore.set_consumer('mailer')", as: "appstore_backend", in: database)
        try await FeedScene.run(FeedScene.tell("a", "b", "c"), in: database)
        try await FeedScene.sequence(in: database)
        return database
    }

    @Test func `a consumer takes each entry once, with what its own transaction writes`() async throws {
        let database = try await Self.make()
        try await database.withConnection(user: "appstore_backend") { connection in
            _ = try await connection.execute("BEGIN")
            #expect(try await Self.take(2, on: connection) == ["a", "b"])
            _ = try await connection.execute("ROLLBACK")
            #expect(try await Self.take(2, on: connection) == ["a", "b"])
            #expect(try await Self.take(2, on: connection) == ["c"])
            #expect(try await Self.take(2, on: connection) == [])
            for count in ["0", "-1", "NULL"] {
                let refused = await #expect(throws: PostgresError.self) {
                    try await connection.execute("SELECT FROM appstore.take('mailer', \(unsafeRaw: count))")
                }
                #expect(refused?.sqlState?.rawValue == "22023")
            }
            _ = try await connection.execute("SELECT appstore.set_consumer('mailer', 1)")
            #expect(try await Self.take(9, on: connection) == ["b", "c"])
        }
    }

    @Test func `the feed is not turned off while a consumer reads it`() async throws {
        let database = try await Self.make()
        try await database.withConnection(user: "appstore_operator") { connection in
            let refusal = await #expect(throws: PostgresError.self) { try await connection.query("SELECT appstore.disable_feed()") }
            #expect(refusal?.message.contains("consumer mailer") == true)
            _ = try await connection.query("SELECT appstore.remove_consumer('mailer')")
            _ = try await connection.query("SELECT appstore.disable_feed()")
        }
    }

    @Test func `a partition is dropped when all of it has aged, later for a consumer that is behind, which then learns of it`() async throws
    {
        let database = try await Self.make()
        // The next partition begins at 10,001.
        try await FeedScene.run(
            "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n::text FROM generate_series(4, 10001) AS n",
            in: database
        )
        try await FeedScene.sequence(in: database)
        let expire: Statement = "SELECT coalesce(appstore.expire_feed(), 'kept')"
        let age = { (days: Int) in
            try await FeedScene.run("UPDATE appstore.feed SET told_at = now() - make_interval(days => \(Int32(days)))", in: database)
        }
        try await age(29)
        #expect(try await database.lines(expire) == ["kept"])
        try await age(31)
        #expect(try await database.lines(expire) == ["kept"], "the consumer has not taken it")
        try await age(61)
        try await FeedScene.run("UPDATE appstore.feed SET told_at = now() WHERE position = 10001", in: database)
        let did = try await database.withConnection(user: "appstore_worker") { try await MaintenanceTask.ageFeed.step(on: $0)?.did }
        #expect(did == "dropped feed_from_1")
        #expect(try await database.lines(expire) == ["kept"], "the newest partition stays")
        let refusal = await #expect(throws: PostgresError.self) {
            try await database.withConnection(user: "appstore_backend") { try await Self.take(2, on: $0) }
        }
        #expect(refusal?.sqlState?.rawValue == "55000")
        try await database.withConnection(user: "appstore_backend") { connection in
            _ = try await connection.execute("SELECT appstore.set_consumer('mailer', 10000)")
            #expect(try await Self.take(2, on: connection) == ["10001"])
        }
    }

    @Test func `entries of a partition that fills slowly age one by one`() async throws {
        let database = try await Self.make()
        let expire: Statement = "SELECT coalesce(appstore.expire_feed(), 'kept')"
        let age = { (days: Int, last: Int) in
            try await FeedScene.run(
                "UPDATE appstore.feed SET told_at = now() - make_interval(days => \(Int32(days))) WHERE position <= \(Int64(last))",
                in: database
            )
        }
        try await age(33, 2)
        #expect(try await database.lines(expire) == ["kept"], "others are kept for as long where their partition is dropped as a whole")
        try await age(35, 2)
        #expect(try await database.lines(expire) == ["kept"], "the consumer has not taken them")
        try await age(59, 2)
        #expect(try await database.lines(expire) == ["kept"], "the consumer has twice the time")
        try await age(61, 2)
        #expect(try await database.lines(expire) == ["deleted the entries before position 3"])
        #expect(try await FeedScene.entries(in: database) == ["3 c"])
        let refusal = await #expect(throws: PostgresError.self) {
            try await database.withConnection(user: "appstore_backend") { try await Self.take(2, on: $0) }
        }
        #expect(refusal?.sqlState?.rawValue == "55000")
    }

    /// The first partition has room for 10,000 entries, and has lasted so long when the 10,001st comes.
    @Test(arguments: [
        ("30 days", "28 hours", 20_000), ("30 days", "29 hours", 10_000), ("30 days", "116 hours", 5_000), ("1 year", "14 days", 20_000),
        ("1 year", "57 days", 10_000), ("1 year", "59 days", 5_000),
    ])
    func `a partition lasts a share of the age of the feed, so that there are few`(kept: String, lasted: String, next: Int) async throws {
        let database = try await Self.make()
        try await FeedScene.run("UPDATE appstore.retention SET feed = '\(unsafeRaw: kept)'", in: database)
        try await FeedScene.run("UPDATE appstore.feed_head SET partition_since = now() - interval '\(unsafeRaw: lasted)'", in: database)
        try await FeedScene.run(
            "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n::text FROM generate_series(4, 10001) AS n",
            in: database
        )
        try await FeedScene.sequence(in: database)
        #expect(try await database.lines("SELECT (partition_to - partition_from)::text FROM appstore.feed_head") == ["\(next)"])
    }

    @Test func `a consumer locks only the partitions that hold its next entries`() async throws {
        let database = try await Self.make()
        // 1 to 10,000, and 10,001 to 30,000.
        try await FeedScene.run(
            "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n::text FROM generate_series(4, 10010) AS n",
            in: database
        )
        try await FeedScene.sequence(in: database)
        let locked: Statement = """
            SELECT c.relname::text FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
            WHERE l.pid = pg_backend_pid() AND c.relkind = 'r' AND c.relname LIKE 'feed\\_from\\_%' ORDER BY 1
            """
        try await database.withConnection(user: "appstore_backend") { connection in
            for (after, count, partitions) in [(0, 5, ["feed_from_1"]), (9998, 4, ["feed_from_1", "feed_from_10001"]), (10010, 5, [])] {
                _ = try await connection.query("SELECT appstore.set_consumer('mailer', \(Int64(after)))")
                try await connection.withTransaction { transaction in
                    let taken = try await transaction.query("SELECT FROM appstore.take('mailer', \(Int64(count)))").count
                    #expect(taken == min(count, 10010 - after))
                    #expect(try await transaction.query(locked).map { try $0.decode(0, as: String.self) } == partitions)
                }
            }
        }
    }

    @Test func `a consumer that exists stays where it is unless it is told where to go`() async throws {
        let database = try await Self.make()
        try await database.withConnection(user: "appstore_backend") { connection in
            #expect(try await Self.take(1, on: connection) == ["a"])
            _ = try await connection.execute("SELECT appstore.set_consumer('mailer')")
            #expect(try await Self.take(1, on: connection) == ["b"])
            _ = try await connection.execute("SELECT appstore.set_consumer('mailer', 0)")
            #expect(try await Self.take(9, on: connection) == ["a", "b", "c"])
        }
    }

    @Test func `without a consumer that is behind, a partition is dropped at its age`() async throws {
        let database = try await Self.make()
        try await FeedScene.run("SELECT appstore.remove_consumer('mailer')", as: "appstore_operator", in: database)
        try await FeedScene.run(
            "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n::text FROM generate_series(4, 10001) AS n",
            in: database
        )
        try await FeedScene.sequence(in: database)
        try await FeedScene.run("UPDATE appstore.feed SET told_at = now() - interval '31 days'", in: database)
        #expect(try await database.lines("SELECT appstore.expire_feed()") == ["dropped feed_from_1"])
    }
}
