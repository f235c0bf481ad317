import Feed
import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Sessions whose transactions and steps a test interleaves, with a feed whose rule is changed.
struct SequencerScene: Sendable {
    /// Where a step stops in the session ``paused``.
    enum Pause: String, CaseIterable {
        /// It has found something to tell.
        case beforeLock = "-- 2. The row lock"
        /// It holds the head, and has read the snapshot.
        case beforeTaking = "-- 3. Take the tells"
    }

    let database: TestDatabase
    /// The functions of the sequencer, as they are.
    private let definitions: [String: String]
    private(set) var log = CommitLog()
    /// Writes transactions that end later.
    let writer: Connection
    /// Writes transactions that are committed at once.
    private let committer: Connection
    let sequencer: Connection
    let paused: Connection
    /// Holds the lock for which `paused` waits.
    private let gate: Connection

    static func with(in cluster: TestCluster, _ body: (SequencerScene) async throws -> Void) async throws {
        let database = try await FeedScene.make(in: cluster)
        func open(_ user: String) async throws -> Connection {
            try await Connection.open(ConnectionOptions(database.url(user: user)), logger: .silent)
        }
        var definitions: [String: String] = [:]
        for name in ["sequence_feed", "take_tells", "has_tells"] {
            definitions[name] = try await database.lines("SELECT pg_get_functiondef((\("appstore.\(name)")::regproc)::oid)")[0]
        }
        let scene = SequencerScene(
            database: database,
            definitions: definitions,
            writer: try await open("postgres"),
            committer: try await open("postgres"),
            sequencer: try await open("appstore_worker"),
            paused: try await open("appstore_worker"),
            gate: try await open("postgres")
        )
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(scene))
        } catch {
            result = .failure(error)
        }
        for connection in [scene.writer, scene.committer, scene.sequencer, scene.paused, scene.gate] { await connection.close() }
        try result.get()
    }

    /// The same sessions with an empty feed and this rule, by which something was told.
    func with(_ rule: ChangedRule) async throws -> SequencerScene {
        var definitions = definitions
        let pauses = Pause.allCases.map { pause in
            let stop = "IF current_setting('feed.pause', true) = '\(pause)' THEN PERFORM pg_advisory_xact_lock_shared(1); END IF;"
            return ChangedRule.Edit("sequence_feed", pause.rawValue, "\(stop)\n    \(pause.rawValue)")
        }
        for edit in rule.edits + pauses {
            let parts = try #require(definitions[edit.function]).components(separatedBy: edit.old)
            try #require(parts.count == 2, "appstore.\(edit.function) has \(parts.count - 1) times: \(edit.old)")
            definitions[edit.function] = parts.joined(separator: edit.new)
        }
        for definition in definitions.values { try await gate.runScript(definition) }
        try await gate.runScript(
            """
            TRUNCATE appstore.tells, appstore.feed;
            UPDATE appstore.feed_head SET position = 0, told_snapshot = NULL, target_snapshot = NULL;
            """
        )
        for session in [writer, sequencer, paused] { try await session.runScript("ROLLBACK") }
        var scene = self
        scene.log = CommitLog()
        try await scene.commit("first")
        try await scene.step()
        return scene
    }

    /// Commits a tell of its own transaction.
    func commit(_ name: String) async throws {
        let writtenAt = log.now()
        _ = try await committer.execute(FeedScene.tell(name))
        log.add([name], writtenAt: writtenAt)
    }

    /// Takes steps until nothing is left.
    func step(upTo most: Int = FeedStep.most) async throws {
        for _ in 0..<20 {
            guard try await FeedStep.take(upTo: most, on: sequencer).hasMore else { return }
        }
        Issue.record("steps do not end")
    }

    /// Lets a step begin in another session, stop at this place, and go on after `meanwhile`.
    func stopping(_ pause: Pause, _ meanwhile: () async throws -> Void) async throws {
        let (paused, gate) = (paused, gate)
        _ = try await paused.query("SELECT set_config('feed.pause', \("\(pause)"), false)")
        _ = try await gate.query("SELECT pg_advisory_lock(1)")
        async let step = FeedStep.take(on: paused)
        try await database.awaitLockWaiters(1)
        do {
            try await meanwhile()
        } catch {
            // A task that is cancelled would close the session.
            _ = try await gate.query("SELECT pg_advisory_unlock(1)")
            _ = try? await step
            throw error
        }
        _ = try await gate.query("SELECT pg_advisory_unlock(1)")
        _ = try await step
    }
}
