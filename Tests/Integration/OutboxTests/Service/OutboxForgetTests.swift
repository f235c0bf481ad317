import AppStore
import InboxTesting
import Ledger
import LedgerStore
import Postgres
import StoreSimulatorServer
import Testing

/// Forgets a user whose receipt other users have posted, too.
@Suite(.timeLimit(.minutes(3)))
struct OutboxForgetTests {
    /// Merges posts of one receipt, as the worker does.
    private func ask(_ events: Int64..., in transaction: Transaction) async throws {
        let facts = events.map { event in
            var facts = EventFacts(eventID: event, environment: .production, notificationUUID: nil)
            facts.calls = [OutboundCall(kind: "verify_receipt", key: "one receipt", bundleID: Simulated.bundleID, eventID: event)]
            return facts
        }
        _ = try await LedgerMerger.merge(BatchFold(facts), in: transaction)
        try await transaction.execute(
            """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
            SELECT unnest(\(events)), 'client_receipt', now(), now(), 1, 1, 'applied'
            """
        )
    }

    /// A scene whose worker may record outcomes of events that were never queued.
    private func makeScene() async throws -> OutboxScene {
        let scene = try await OutboxScene(Simulated.store())
        try await scene.database.withConnection { try await $0.runScript("GRANT INSERT ON appstore.outcomes TO appstore_worker") }
        return scene
    }

    private func ask(_ event: Int64, _ scene: OutboxScene) async throws {
        try await scene.database.withConnection(user: "appstore_worker") { connection in
            try await connection.withTransaction { try await ask(event, in: $0) }
        }
    }

    private func forget(_ user: String, _ scene: OutboxScene) async throws {
        _ = try await scene.database.withConnection(user: "appstore_operator") { connection in
            try await connection.execute("SELECT appstore.forget(\(user))")
        }
    }

    /// Posts of one receipt by Anna and then by Berta.
    private func posts(_ scene: OutboxScene) async throws -> (anna: Int64, berta: Int64) {
        (try await scene.receive(Simulated.receiptData, from: "anna"), try await scene.receive(Simulated.receiptData, from: "berta"))
    }

    /// State, event and reason of each call.
    private func calls(_ scene: OutboxScene) async throws -> [String] {
        try await scene.database.lines("SELECT concat_ws(' ', state, event_id, reason) FROM appstore.outbox ORDER BY call_id")
    }

    @Test func `a shared call uses the post of another user, and is discarded when the last user is forgotten`() async throws {
        let scene = try await makeScene()
        let (anna, berta) = try await posts(scene)
        try await ask(anna, scene)
        try await ask(berta, scene)
        #expect(try await calls(scene) == ["open \(anna)"])
        try await forget("anna", scene)
        #expect(try await calls(scene) == ["open \(berta)"])
        #expect(try await scene.database.lines("SELECT event_id::text FROM appstore.inbox") == ["\(berta)"])
        try await forget("berta", scene)
        #expect(try await calls(scene) == ["discarded \(berta) forgotten"])
        #expect(try await scene.database.lines("SELECT event_id::text FROM appstore.inbox") == [])
        await scene.server.stop()
    }

    @Test func `the remaining user gets the answer`() async throws {
        let scene = try await makeScene()
        let (anna, berta) = try await posts(scene)
        // In one batch.
        try await scene.database.withConnection(user: "appstore_worker") { connection in
            try await connection.withTransaction { try await ask(anna, berta, in: $0) }
        }
        try await forget("anna", scene)
        try await scene.running { await scene.log.lines(with: "call answered") }
        #expect(try await calls(scene) == ["answered \(berta)"])
        #expect(try await scene.answers().count == 1)
        await scene.server.stop()
    }

    @Test(arguments: [true, false])
    func `a queued answer is deleted with the last user who asked for it`(isShared: Bool) async throws {
        let scene = try await makeScene()
        let (anna, berta) = try await posts(scene)
        try await ask(anna, scene)
        if isShared { try await ask(berta, scene) }
        try await scene.running { await scene.log.lines(with: "call answered") }
        let waiting: Statement = "SELECT i.source FROM appstore.inbox_queue AS r JOIN appstore.inbox AS i USING (event_id)"
        #expect(try await scene.database.lines(waiting) == ["verify_receipt"])
        try await forget("anna", scene)
        #expect(try await scene.database.lines(waiting) == (isShared ? ["verify_receipt"] : []))
        #expect(try await scene.answers().count == (isShared ? 1 : 0))
        if isShared { try await forget("berta", scene) }
        #expect(try await scene.answers() == [])
        await scene.server.stop()
    }

    @Test func `other posts of the forgotten user, and requeued ones, do not keep a call`() async throws {
        let scene = try await makeScene()
        let first = try await scene.receive(Simulated.receiptData, from: "anna")
        let second = try await scene.receive(Simulated.receiptData, from: "anna")
        try await ask(first, scene)
        try await ask(second, scene)
        _ = try await scene.database.withConnection { try await $0.execute("DELETE FROM appstore.outcomes WHERE event_id = \(first)") }
        try await ask(first, scene)
        #expect(try await scene.database.lines("SELECT asked_by::text FROM appstore.outbox") == ["{\(first),\(second)}"])
        try await forget("anna", scene)
        #expect(try await calls(scene) == ["discarded \(first) forgotten"])
        await scene.server.stop()
    }

    @Test func `a call records at most a hundred events that asked for it`() async throws {
        let scene = try await makeScene()
        try await scene.database.withConnection(user: "appstore_worker") { connection in
            try await connection.withTransaction { transaction in
                for event in 1...105 as ClosedRange<Int64> { try await ask(event, in: transaction) }
            }
        }
        #expect(try await scene.database.lines("SELECT concat_ws(' ', event_id, cardinality(asked_by)) FROM appstore.outbox") == ["1 100"])
        await scene.server.stop()
    }

    @Test func `a concurrent post is not lost when another user is forgotten, in either order`() async throws {
        let scene = try await makeScene()
        let (anna, berta) = try await posts(scene)
        try await ask(anna, scene)
        // A batch has asked, but has not committed yet.
        try await scene.commit(as: "appstore_worker") {
            try await ask(berta, in: $0)
        } before: {
            try await forget("anna", scene)
        }
        #expect(try await calls(scene) == ["open \(berta)"])
        // Berta is being forgotten: the call that only she asked for is discarded, and Carla's post opens a new one.
        let carla = try await scene.receive(Simulated.receiptData, from: "carla")
        try await scene.commit(as: "appstore_operator") { transaction in
            try await transaction.execute("SELECT appstore.forget('berta')")
        } before: {
            try await ask(carla, scene)
        }
        #expect(try await calls(scene) == ["discarded \(berta) forgotten", "open \(carla)"])
        await scene.server.stop()
    }
}

extension OutboxScene {
    /// Runs `second` while the transaction of `first` is open, and commits when `second` waits for its locks.
    fileprivate func commit(
        as user: String,
        _ first: @escaping @Sendable (Transaction) async throws -> Void,
        before second: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await database.withConnection(user: user) { connection in
            let backend = try await connection.query("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self)
            try await withThrowingTaskGroup { group in
                try await connection.withTransaction { transaction in
                    try await first(transaction)
                    group.addTask { try await second() }
                    try await awaitWaiting(for: backend)
                }
                try await group.waitForAll()
            }
        }
    }

    /// Waits until another session waits for a lock of this session.
    private func awaitWaiting(for backend: Int32) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        let question: Statement =
            "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND \(backend) = ANY (pg_blocking_pids(pid))"
        while try await database.lines(question) == ["0"] {
            try #require(ContinuousClock.now < deadline, "no session waits")
        }
    }
}
