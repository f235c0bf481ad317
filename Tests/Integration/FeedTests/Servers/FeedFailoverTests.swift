import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Two servers and asynchronous replication: the standby is promoted without the last commits of the primary, steps of the feed among them.
struct FeedFailoverTests {
    @Test(.timeLimit(.minutes(2)))
    func `a failover that loses steps begins a generation, and what is merged and told again keeps its id`() async throws {
        let primary = try await TestCluster.startPrivate()
        let database = try await FeedScene.make(in: primary)
        let standby = try await primary.startStandby()
        let promoted = standby.database(named: database.name)
        try await FeedLedger.order(1...8, in: database)
        for contract in 1...4 { try await FeedLedger.merge(FeedLedger.purchase(contract), in: database) }
        try await database.sequenceFeed()
        let kept = try await ToldEntry.all(in: database)
        // Committed on both, and told on neither.
        for contract in 5...6 { try await FeedLedger.merge(FeedLedger.purchase(contract), in: database) }
        try await catchUp(promoted, with: database)
        await standby.stop()

        // Lost: steps, notifications that were answered, and a command of the shop.
        try await database.sequenceFeed()
        try await FeedLedger.merge(FeedLedger.purchase(7), in: database)
        try await FeedLedger.merge(FeedLedger.refund(1), in: database)
        try await FeedScene.run("SELECT appstore.link_owner('Production', '2', 'lost')", in: database)
        try await database.sequenceFeed()
        let before = try await ToldEntry.all(in: database)
        await primary.kill()
        try await standby.launch()
        _ = try await promoted.lines("SELECT pg_promote()::text")

        // Other things come first, and the notifications are posted again, in another order.
        try await FeedLedger.merge(FeedLedger.purchase(8), in: promoted)
        try await promoted.sequenceFeed()
        try await FeedLedger.merge(FeedLedger.refund(1), in: promoted)
        try await promoted.sequenceFeed()
        try await FeedLedger.merge(FeedLedger.purchase(7), in: promoted)
        try await promoted.sequenceFeed()
        let after = try await ToldEntry.all(in: promoted)

        #expect(try await promoted.feedViolations() == [])
        #expect(Array(after.prefix(kept.count)) == kept)
        #expect(try await FeedScene.generations(in: promoted) == ["1 1", "2 \(kept.count + 1)"])
        #expect(try await promoted.lines("SELECT (generation > 20000000)::text FROM appstore.feed_head") == ["true"])
        #expect((before + after).ambiguousIDs == [])
        let lost = before.dropFirst(kept.count)
        let again = after.dropFirst(kept.count)
        #expect(lost.filter(\.isEffect).count == 4)
        let ids = Set(again.map(\.id))
        // Only the link was not made again.
        #expect(lost.filter { !ids.contains($0.id) }.allSatisfy { $0.content.contains("|2|") }, "\(lost)")
        #expect(lost.map(\.position) != again.filter { Set(lost.map(\.id)).contains($0.id) }.map(\.position), "they are at other positions")
        await standby.stop()
    }

    private func catchUp(_ standby: TestDatabase, with primary: TestDatabase) async throws {
        let end = try await primary.lines("SELECT pg_current_wal_flush_lsn()::text")[0]
        try await eventually("the standby has all commits") {
            try await standby.lines("SELECT (pg_last_wal_replay_lsn() >= \(end)::pg_lsn)::text") == ["true"]
        }
    }
}
