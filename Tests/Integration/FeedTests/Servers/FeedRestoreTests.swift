import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import TemporaryPostgres
import Testing

/// Snapshots and transaction ids say nothing in another cluster, database or timeline.
struct FeedRestoreTests {
    enum Target: CaseIterable, Sendable {
        /// The dump's transaction ids lie above those of the new cluster: read as they are, they would hide what was not told yet.
        case youngerCluster
        /// They lie below those of the new cluster, and may be those of other transactions there.
        case olderCluster
        case sameCluster
    }

    @Test(.timeLimit(.minutes(2)), arguments: Target.allCases)
    func `a dump that is restored tells what was not told, and goes on after it`(target: Target) async throws {
        let database = try await FeedScene.make()
        if target == .youngerCluster { try await burnTransactionIDs(in: database) }
        try await FeedLedger.order(1...4, in: database)
        try await FeedLedger.merge(FeedLedger.purchase(1), in: database)
        try await database.sequenceFeed()
        try await FeedLedger.merge(FeedLedger.purchase(2), in: database)
        let cluster = target == .sameCluster ? TestCluster.shared : try await TestCluster.startPrivate()
        // The roles belong to the cluster.
        let other = try await InboxDatabase.make(in: cluster)
        if target == .olderCluster { try await burnTransactionIDs(in: other) }
        let restored = try await cluster.makeDatabase()
        try await restore(database, into: restored)
        try await FeedLedger.merge(FeedLedger.purchase(3), in: restored)
        try await restored.sequenceFeed()
        try await FeedLedger.merge(FeedLedger.refund(2), in: restored)
        try await FeedLedger.merge(FeedLedger.purchase(4), in: restored)
        try await restored.sequenceFeed()
        #expect(try await restored.feedViolations() == [])
        #expect(try await restored.lines("SELECT count(*)::text FROM appstore.tells") == ["0"])
        #expect(try await FeedScene.generations(in: restored) == ["1 1", "2 4"])
        // The original goes on, too, and tells the same under the same ids.
        try await FeedLedger.merge(FeedLedger.refund(2), FeedLedger.purchase(4), in: database)
        try await database.sequenceFeed()
        #expect(try await (ToldEntry.all(in: database) + ToldEntry.all(in: restored)).ambiguousIDs == [])
        #expect(
            try await Set(ToldEntry.all(in: restored).filter(\.isEffect).map(\.id)).isSuperset(
                of: ToldEntry.all(in: database).filter(\.isEffect).map(\.id)
            )
        )
        if target != .sameCluster { await cluster.stop() }
    }

    @Test func `a copy of the database has a generation of its own`() async throws {
        let database = try await FeedScene.make()
        try await FeedScene.run(FeedScene.tell("a"), in: database)
        try await FeedScene.sequence(in: database)
        try await FeedScene.run("UPDATE appstore.feed_head SET cluster = 'of another database'", in: database)
        try await FeedScene.sequence(in: database)
        try await FeedScene.run(FeedScene.tell("b"), in: database)
        try await FeedScene.sequence(in: database)
        #expect(try await database.lines("SELECT (generation > 20000000)::text FROM appstore.feed_head") == ["true"])
        #expect(try await FeedScene.entries(in: database) == ["1 a", "2 b"])
    }

    private func burnTransactionIDs(in database: TestDatabase) async throws {
        try await database.withConnection { connection in
            try await connection.runScript(
                "DO $$ BEGIN FOR i IN 1..3000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
            )
        }
    }

    private func restore(_ database: TestDatabase, into restored: TestDatabase) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "feed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
        defer { try? FileManager.default.removeItem(at: folder) }
        let dump = folder.appending(path: "dump.sql").path
        try await PostgresPrograms.run("pg_dump", ["--no-owner", "--file", dump, database.url()])
        try await PostgresPrograms.run("psql", ["-XAtq", "-v", "ON_ERROR_STOP=1", "-f", dump, restored.url()])
    }
}
