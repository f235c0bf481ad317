import Feed
import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

/// Each part of the sequencer's rule is needed: without it, an interleaving of transactions and steps makes a feed that ``CommitLog`` refuses.
///
/// In a cluster of its own, so that transactions of other tests do not change the snapshots.
struct SequencerRuleTests {
    private typealias Interleaving = @Sendable (SequencerScene) async throws -> Void

    @Test(.timeLimit(.minutes(2))) func `a change of the rule is found by what the feed then lacks`() async throws {
        let cluster = try await TestCluster.startPrivate()
        try await SequencerScene.with(in: cluster) { scene in
            for rule in ChangedRule.all {
                let found = try await Self.play(rule.keepsTells ? Self.withoutFullSteps : Self.all, in: scene.with(rule))
                let kinds = Set(found.map { String($0.prefix { $0 != ":" }) })
                #expect(rule.violations.isEmpty ? found == [] : !kinds.isDisjoint(with: rule.violations), "\(rule): \(found)")
            }
        }
        await cluster.stop()
    }

    /// Judges after each interleaving: a later step may make up for what an earlier one left.
    private static func play(_ interleavings: [Interleaving], in scene: SequencerScene) async throws -> [String] {
        var violations: [String] = []
        for interleaving in interleavings {
            do {
                try await interleaving(scene)
            } catch let error as PostgresError where error.code == .sql {
                violations.append("step: \(error)")
            }
            violations += try await scene.log.violations(in: scene.database)
        }
        return violations
    }

    private static let withoutFullSteps: [Interleaving] = [openBeside, atXmax, openBeforeItsTell, twoAtOnce, overtaken]
    private static let all = withoutFullSteps + [fullSteps]

    /// A transaction writes, another one commits after it and is told, then the first one commits.
    @Sendable private static func openBeside(_ scene: SequencerScene) async throws {
        let writtenAt = scene.log.now()
        try await scene.writer.withTransaction { open in
            _ = try await open.execute(FeedScene.tell("open"))
            try await scene.commit("beside")
            try await scene.step()
        }
        scene.log.add(["open"], writtenAt: writtenAt)
        try await scene.step()
    }

    /// The same, but no transaction that began after the open one has ended, so that it is the xmax of the step's snapshot.
    @Sendable private static func atXmax(_ scene: SequencerScene) async throws {
        try await scene.commit("before xmax")
        let writtenAt = scene.log.now()
        try await scene.writer.withTransaction { open in
            _ = try await open.execute(FeedScene.tell("at xmax"))
            let id = try await open.query("SELECT pg_current_xact_id()::text")[0].decode(0, as: String.self)
            try await scene.step()
            let xmax = try await scene.database.lines("SELECT pg_snapshot_xmax(told_snapshot)::text FROM appstore.feed_head")
            #expect(xmax == [id])
        }
        scene.log.add(["at xmax"], writtenAt: writtenAt)
        try await scene.step()
    }

    /// A transaction begins, and writes after the commit of a later one, both while a step has its snapshot and has not read yet.
    @Sendable private static func openBeforeItsTell(_ scene: SequencerScene) async throws {
        let early = scene.writer
        _ = try await early.execute("BEGIN")
        _ = try await early.query("SELECT pg_current_xact_id()::text")
        try await scene.commit("seen")
        try await scene.stopping(.beforeTaking) {
            try await scene.commit("unseen")
            let writtenAt = scene.log.now()
            _ = try await early.execute(FeedScene.tell("late"))
            _ = try await early.execute("COMMIT")
            scene.log.add(["late"], writtenAt: writtenAt)
        }
        try await scene.step()
    }

    private final class Ending: Sendable {
        let isReached = Mutex(false)
    }

    /// A step begins while another one is not committed.
    @Sendable private static func twoAtOnce(_ scene: SequencerScene) async throws {
        try await scene.commit("for one of two")
        let second = Ending()
        try await withThrowingTaskGroup { group in
            try await scene.sequencer.withTransaction { first in
                _ = try await first.query("SELECT s.told FROM appstore.sequence_feed() AS s")
                group.addTask {
                    defer { second.isReached.withLock { $0 = true } }
                    _ = try await FeedStep.take(on: scene.paused)
                }
                try await eventually("the second step has ended or waits for the first one") {
                    if second.isReached.withLock({ $0 }) { return true }
                    return try await !scene.database.lines(
                        "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                    ).isEmpty
                }
            }
            try await group.waitForAll()
        }
        try await scene.commit("after two")
        try await scene.step()
    }

    /// A step that has found something waits while another session takes a whole step.
    @Sendable private static func overtaken(_ scene: SequencerScene) async throws {
        try await scene.commit("found")
        try await scene.stopping(.beforeLock) {
            try await scene.commit("found by the other")
            try await scene.step()
        }
        try await scene.commit("after both")
        try await scene.step()
    }

    /// Steps that take less than there is.
    @Sendable private static func fullSteps(_ scene: SequencerScene) async throws {
        for name in ["1", "2", "3", "4", "5"] { try await scene.commit(name) }
        try await scene.step(upTo: 2)
    }
}
