import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    /// `migrate --publication`, with a subscriber in another database.
    @Suite struct PublicationTests {
        @Test func `a subscriber gets each entry under the name of the feed, without users, and from partitions to come`() async throws {
            let cluster = try await TestCluster.startPrivate(settings: ["wal_level": "logical"])
            let (source, copy) = (try await cluster.makeDatabase(), try await cluster.makeDatabase())
            for _ in 0..<2 {
                let made = try await migrate(source, "--publication")
                #expect(made.ending == .exit(0), "\(made.errors)")
                #expect(made.output.hasSuffix("The publication appstore_feed has the feed, without the names of users.\n"))
            }
            let (sql, other) = (try SQLAccess(url: source.url()), try SQLAccess(url: copy.url()))
            try await sql.execute("SELECT appstore.enable_feed()")
            try await sql.execute("SELECT pg_create_logical_replication_slot('feed', 'pgoutput')")
            try await other.execute("CREATE SCHEMA appstore")
            try await other.execute("CREATE TYPE appstore.environment AS ENUM ('Production', 'Sandbox')")
            try await other.execute(
                """
                CREATE TABLE appstore.feed (position bigint PRIMARY KEY, id uuid, type text, environment appstore.environment, bundle_id text,
                                            subject text, occurred_at timestamptz, told_at timestamptz, data jsonb)
                """
            )
            try await other.execute(
                """
                CREATE SUBSCRIPTION feed CONNECTION '\(unsafeRaw: source.url())' PUBLICATION appstore_feed
                WITH (create_slot = false, slot_name = 'feed', copy_data = false)
                """
            )
            try await sql.execute("INSERT INTO appstore.tells (kind, ref) VALUES ('forgotten', 'ann')")
            try await sql.execute("SELECT appstore.sequence_feed()")
            // An update is not published, and a partition that is made later is.
            try await sql.execute("UPDATE appstore.feed SET user_id = 'forgotten:x'")
            try await sql.execute("UPDATE appstore.feed_head SET partition_to = 2")
            try await sql.execute("ALTER TABLE appstore.feed DETACH PARTITION appstore.feed_from_1")
            try await sql.execute("ALTER TABLE appstore.feed ATTACH PARTITION appstore.feed_from_1 FOR VALUES FROM (1) TO (2)")
            try await sql.execute("INSERT INTO appstore.tells (kind, ref) VALUES ('forgotten', 'bob')")
            try await sql.execute("SELECT appstore.sequence_feed()")
            #expect(try await sql.value(Int.self, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'appstore.feed'::regclass") == 2)
            try await eventually("both entries arrive") {
                try await other.values("SELECT position || ' ' || type FROM appstore.feed ORDER BY 1")
                    == ["1 user.forgotten", "2 user.forgotten"]
            }
            await sql.close()
            await other.close()
            await cluster.stop()
        }

        @Test func `users are published where they are asked for, a row filter stays, and the level of the WAL is named`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            _ = try await migrate(database, "--publication")
            let sql = try SQLAccess(url: database.url())
            let columns: Statement = "SELECT array_to_string(attnames, ' ') FROM pg_publication_tables WHERE pubname = 'appstore_feed'"
            #expect(
                try await sql.values(columns) == ["position id type environment bundle_id subject occurred_at told_at data"]
            )
            try await sql.execute(
                "ALTER PUBLICATION appstore_feed SET TABLE appstore.feed (position, type) WHERE (bundle_id = 'com.example.shop')"
            )
            let made = try await migrate(database, "--publication-users")
            #expect(made.output.contains("with the names of users") && made.output.contains("wal_level is replica"), "\(made.output)")
            #expect(
                try await sql.values(columns)
                    == ["position id type environment bundle_id subject user_id from_user_id occurred_at told_at data"]
            )
            #expect(
                try await sql.values("SELECT rowfilter FROM pg_publication_tables")
                    == ["(bundle_id = 'com.example.shop'::text)"]
            )
            #expect(
                try await sql.values("SELECT concat_ws(' ', pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot) FROM pg_publication")
                    == ["t f f f t"]
            )
            #expect(try await migrate(database, "--check").ending == .exit(0))
            #expect(try await migrate(database, "--check", "--publication").ending == .exit(2))
            await sql.close()
        }

        private func migrate(_ database: TestDatabase, _ options: String...) async throws -> Program.Result {
            try await Program.run(["migrate"] + options, settings: ["APPSTORE_INBOX_DATABASE_URL": database.url()])
        }
    }
}
