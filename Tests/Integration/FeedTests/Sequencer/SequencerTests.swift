import Feed
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Positions follow the commits, and no open transaction delays those of others.
struct SequencerTests {
    @Test func `what is committed is told at the next step, in the order of commit, beside transactions that stay open`() async throws {
        let database = try await FeedScene.make()
        let other = try await InboxDatabase.make()
        try await other.withConnection { foreign in
            try await foreign.withTransaction { abroad in
                // A transaction of another database, and a snapshot, both older than all that follows.
                _ = try await abroad.execute("SELECT pg_current_xact_id()")
                try await database.withConnection { reader in
                    try await reader.withTransaction { held in
                        _ = try await held.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                        _ = try await held.execute("SELECT FROM appstore.feed_head")
                        try await tellBesideAnOpenWriter(in: database)
                    }
                }
            }
        }
        try await FeedScene.sequence(in: database)
        #expect(try await FeedScene.entries(in: database) == ["1 second", "2 third", "3 first"])
    }

    /// `first` writes first and commits last.
    private func tellBesideAnOpenWriter(in database: TestDatabase) async throws {
        try await database.withConnection { writer in
            try await writer.withTransaction { open in
                _ = try await open.execute(FeedScene.tell("first"))
                try await FeedScene.run(FeedScene.tell("second"), in: database)
                try await FeedScene.sequence(in: database)
                #expect(try await FeedScene.entries(in: database) == ["1 second"])
                try await FeedScene.run(FeedScene.tell("third"), in: database)
                try await FeedScene.sequence(in: database)
                #expect(try await FeedScene.entries(in: database) == ["1 second", "2 third"])
            }
        }
        try await FeedScene.sequence(in: database)
        #expect(try await FeedScene.entries(in: database) == ["1 second", "2 third", "3 first"])
    }

    @Test func `steps that cannot tell all at once keep to the order of commit`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.sequence(in: database)
        try await database.withConnection { writer in
            try await writer.withTransaction { open in
                _ = try await open.execute(FeedScene.tell("late"))
                try await FeedScene.run(FeedScene.tell("a", "b", "c", "d"), in: database)
                #expect(try await database.lines("SELECT (s.told, s.has_more)::text FROM appstore.sequence_feed(2) AS s") == ["(2,t)"])
            }
        }
        // Its tell has the least number, and was committed between the two steps.
        #expect(try await database.lines("SELECT (s.told, s.has_more)::text FROM appstore.sequence_feed(3) AS s") == ["(2,t)"])
        try await FeedScene.sequence(in: database)
        #expect(try await FeedScene.entries(in: database) == ["1 a", "2 b", "3 c", "4 d", "5 late"])
    }

    @Test func `a step that finds nothing writes nothing`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run(FeedScene.tell("a"), in: database)
        try await FeedScene.sequence(in: database)
        let head: Statement = "SELECT ctid || ' ' || xmin || ' ' || xmax FROM appstore.feed_head"
        let before = try await database.lines(head)
        for _ in 0..<3 { try await FeedScene.sequence(in: database) }
        #expect(try await database.lines(head) == before)
    }

    @Test func `a step while another session takes one tells nothing`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run(FeedScene.tell("a"), in: database)
        try await database.withConnection(user: "appstore_worker") { one in
            try await one.withTransaction { transaction in
                _ = try await transaction.execute("SELECT appstore.sequence_feed()")
                try await FeedScene.sequence(in: database)
                #expect(try await FeedScene.entries(in: database) == [])
            }
        }
        #expect(try await FeedScene.entries(in: database) == ["1 a"])
    }

    @Test func `partitions are made as positions need them`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run(
            "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n::text FROM generate_series(1, 35000) AS n",
            in: database
        )
        try await FeedScene.sequence(in: database)
        #expect(
            try await database.lines(
                "SELECT tableoid::regclass || ' ' || min(position) || ' ' || max(position) FROM appstore.feed GROUP BY tableoid ORDER BY min(position)"
            ) == ["appstore.feed_from_1 1 10000", "appstore.feed_from_10001 10001 30000", "appstore.feed_from_30001 30001 35000"]
        )
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.feed WHERE position::text <> user_id") == ["0"])
    }

    @Test(arguments: [false, true])
    func `a tell that is deleted meanwhile takes no other with it`(afterRestore: Bool) async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run(FeedScene.tell("a", "b"), in: database)
        if afterRestore { try await FeedScene.run("UPDATE appstore.feed_head SET cluster = 'of another database'", in: database) }
        try await database.withConnection { operating in
            try await operating.execute("BEGIN")
            try await operating.execute("DELETE FROM appstore.tells WHERE ref = 'a'")
            async let step = database.withConnection(user: "appstore_worker") { try await FeedStep.take(upTo: 1, on: $0) }
            try await database.awaitLockWaiters(1)
            try await operating.execute("COMMIT")
            let taken = try await step
            #expect(taken.told == 0 && taken.hasMore)
        }
        try await FeedScene.sequence(in: database)
        #expect(try await FeedScene.entries(in: database) == ["1 b"])
    }
}
