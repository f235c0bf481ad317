import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import TemporaryPostgres
import Testing

/// Snapshots and transaction ids say nothing in another cluster, database or timeline.
struct FeedRestoreTests {
    /// The old cluster's transaction ids lie above those of the new one: read as they are, they would hide what was not told yet.
    @Test func `a dump that is restored into a younger cluster tells what was not told, and goes on after it`() async throws {
        let database = try await FeedScene.make()
        try await burnTransactionIDs(in: database)
        try await FeedScene.run(FeedScene.tell("told"), in: database)
        try await FeedScene.sequence(in: database)
        try await FeedScene.run(FeedScene.tell("waiting"), in: database)
        let folder = FileManager.default.temporaryDirectory.appending(path: "feed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
        defer { try? FileManager.default.removeItem(at: folder) }
        let dump = folder.appending(path: "dump.sql").path
        try await PostgresPrograms.run("pg_dump", ["--no-owner", "--file", dump, database.url()])
        let cluster = try await TestCluster.startPrivate()
        // The roles belong to the cluster.
        _ = try await InboxDatabase.make(in: cluster)
        let restored = try await cluster.makeDatabase()
        try await PostgresPrograms.run("psql", ["-XAtq", "-v", "ON_ERROR_STOP=1", "-f", dump, restored.url()])
        try await FeedScene.run(FeedScene.tell("fresh"), in: restored)
        try await sequenceAsOwner(in: restored)
        #expect(try await FeedScene.entries(in: restored) == ["1 told", "2 waiting", "3 fresh"])
        try await FeedScene.run(FeedScene.tell("later"), in: restored)
        try await sequenceAsOwner(in: restored)
        #expect(try await FeedScene.entries(in: restored) == ["1 told", "2 waiting", "3 fresh", "4 later"])
        #expect(try await restored.lines("SELECT generation::text FROM appstore.feed_head") == ["2"])
        await cluster.stop()
    }

    @Test func `a copy of the database has a generation of its own`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run(FeedScene.tell("a"), in: database)
        try await FeedScene.sequence(in: database)
        try await FeedScene.run("UPDATE appstore.feed_head SET cluster = 'of another database'", in: database)
        try await FeedScene.sequence(in: database)
        try await FeedScene.run(FeedScene.tell("b"), in: database)
        try await FeedScene.sequence(in: database)
        #expect(try await database.lines("SELECT generation::text FROM appstore.feed_head") == ["2"])
        #expect(try await FeedScene.entries(in: database) == ["1 a", "2 b"])
    }

    private func burnTransactionIDs(in database: TestDatabase) async throws {
        try await database.withConnection { connection in
            try await connection.runScript(
                "DO $$ BEGIN FOR i IN 1..3000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
            )
        }
    }

    private func sequenceAsOwner(in database: TestDatabase) async throws {
        try await FeedScene.run("SELECT appstore.sequence_feed()", in: database)
    }
}
