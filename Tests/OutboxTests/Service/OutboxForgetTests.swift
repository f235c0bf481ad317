import AppStore
import InboxTesting
import Ledger
import LedgerStore
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

@testable import Outbox

/// Somebody is forgotten whose receipt others have posted, too.
@Suite(.timeLimit(.minutes(3)))
struct OutboxForgetTests {
    /// Merges posts of one receipt, as the worker does.
    private func ask(_ events: Int64..., in transaction: Transaction) async throws {
        let facts = events.map { event in
            let call = OutboundCall(kind: "verify_receipt", key: "one receipt", bundleID: Simulated.bundleID, eventID: event)
            return EventFacts(eventID: event, environment: .production, notificationUUID: nil, calls: [call])
        }
        _ = try await BookKeeper.merge(BatchFold(facts), in: transaction)
        try await transaction.execute(
            """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
            SELECT unnest(\(events)), 'client_receipt', now(), now(), 1, 1, 'applied'
            """
        )
    }

    /// A scene whose worker may record outcomes of events that never were in the queue.
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

    /// Anna's post and then Berta's, of one receipt.
    private func posts(_ scene: OutboxScene) async throws -> (anna: Int64, berta: Int64) {
        (try await scene.receive(Simulated.receiptData, from: "anna"), try await scene.receive(Simulated.receiptData, from: "berta"))
    }

    /// Each call's state, and the event that it is made of.
    private func calls(_ scene: OutboxScene) async throws -> [String] {
        try await scene.database.lines("SELECT concat_ws(' ', state, event_id, reason) FROM appstore.outbox ORDER BY call_id")
    }

    @Test func `a call that another asked for, too, is made of his post, and of nobody's when he is forgotten as well`() async throws {
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

    @Test func `the answer comes for him who is left`() async throws {
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
    func `an answer that waits goes with its last asker`(isShared: Bool) async throws {
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

    @Test func `posts of his own, and requeued ones, keep nothing alive`() async throws {
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

    @Test func `a question is remembered of a hundred events, not of every post there is`() async throws {
        let scene = try await makeScene()
        try await scene.database.withConnection(user: "appstore_worker") { connection in
            try await connection.withTransaction { transaction in
                for event in 1...105 as ClosedRange<Int64> { try await ask(event, in: transaction) }
            }
        }
        #expect(try await scene.database.lines("SELECT concat_ws(' ', event_id, cardinality(asked_by)) FROM appstore.outbox") == ["1 100"])
        await scene.server.stop()
    }

    @Test func `who asks while the other one is forgotten is heard, whoever comes first`() async throws {
        let scene = try await makeScene()
        let (anna, berta) = try await posts(scene)
        try await ask(anna, scene)
        // A batch has asked, and is not committed yet.
        try await scene.ahead(as: "appstore_worker") {
            try await ask(berta, in: $0)
        } of: {
            try await forget("anna", scene)
        }
        #expect(try await calls(scene) == ["open \(berta)"])
        // Anna is being forgotten: what she alone asked has its end, and is asked anew.
        let carla = try await scene.receive(Simulated.receiptData, from: "carla")
        try await scene.ahead(as: "appstore_operator") { transaction in
            try await transaction.execute("SELECT appstore.forget('berta')")
        } of: {
            try await ask(carla, scene)
        }
        #expect(try await calls(scene) == ["discarded \(berta) forgotten", "open \(carla)"])
        await scene.server.stop()
    }
}

extension OutboxScene {
    /// Commits a transaction when another one waits for it.
    fileprivate func ahead(
        as user: String,
        _ first: @escaping @Sendable (Transaction) async throws -> Void,
        of second: @escaping @Sendable () async throws -> Void
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

    /// Waits until somebody waits for a lock that this session has.
    private func awaitWaiting(for backend: Int32) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        let question: Statement =
            "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND \(backend) = ANY (pg_blocking_pids(pid))"
        while try await database.lines(question) == ["0"] {
            try #require(ContinuousClock.now < deadline, "no session waits")
        }
    }
}
