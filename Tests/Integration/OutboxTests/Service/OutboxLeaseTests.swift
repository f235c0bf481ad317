import AppStore
import InboxTesting
import Postgres
import StoreSimulator
import StoreSimulatorServer
import Testing

@testable import Outbox

/// Each call is made at least once, and exactly one answer is stored.
@Suite(.timeLimit(.minutes(3)))
struct OutboxLeaseTests {
    private func lease(
        _ kind: String = "verify_receipt",
        of bundleIDs: [String] = [Simulated.bundleID],
        atMost count: Int = 1,
        in pool: ConnectionPool
    ) async throws -> [LeasedCall] {
        let lanes = bundleIDs.map { CallLane($0, .production) }
        return try await OutboxStore(pool: pool).lease([kind], in: lanes, atMost: count, for: .seconds(3600))
    }

    @Test func `of two answers to one call, the one of the expired lease is dropped`() async throws {
        let scene = try await OutboxScene(Simulated.store(steps: [.answer.by(.whenReleased), .answer]))
        let call = try await scene.call()
        try await scene.running(2) {
            // The first worker gets no answer before its lease expires; then the other one makes the call.
            for await _ in scene.server.requests { break }
            try await scene.endLeases()
            await scene.log.lines(with: "call answered")
            scene.server.release()
            await scene.log.lines(with: "another worker has the call")
        }
        #expect(try await scene.answers() == ["verify_receipt \(call) 1"])
        #expect(try await scene.calls() == ["answered 1 f"])
        #expect(try scene.attempts("answered") == 1 && scene.attempts("late") == 1)
        #expect(scene.server.received.count == 2)
        await scene.server.stop()
    }

    @Test(arguments: ["refused", "postponed", "given up"])
    func `an expired lease changes nothing, whatever the answer`(ending: String) async throws {
        let steps: [String: VerifyReceiptScript.Step] = ["refused": .status(.notAuthenticated)]
        let first = steps[ending] ?? .status(.temporarilyUnavailable)
        let scene = try await OutboxScene(Simulated.store(steps: [first.by(.whenReleased), .answer]))
        try await scene.call(timeLimit: ending == "given up" ? .zero : .seconds(1000))
        try await scene.running(2) {
            for await _ in scene.server.requests { break }
            try await scene.endLeases()
            await scene.log.lines(with: "call answered")
            scene.server.release()
            await scene.log.lines(with: "another worker has the call")
        }
        #expect(try await scene.calls() == ["answered 1 f"])
        #expect(try scene.attempts("answered") == 1 && scene.attempts("late") == 1)
        await scene.server.stop()
    }

    @Test func `another worker makes the call of a worker that died, and stores one answer`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        let call = try await scene.call()
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        // A worker leases the call and dies.
        let dead = try await lease(in: pool)
        #expect(dead.map(\.callID) == [call] && dead.map(\.epoch) == [1])
        #expect(try await lease(in: pool).isEmpty)
        await pool.close()
        try await scene.endLeases()
        try await scene.running { await scene.log.lines(with: "call answered") }
        #expect(try await scene.answers() == ["verify_receipt \(call) 1"])
        #expect(try await scene.database.lines("SELECT epoch::text FROM appstore.outbox") == ["2"])
        await scene.server.stop()
    }

    @Test func `an expired lease settles nothing, neither during the later lease nor afterwards`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        let call = try await scene.call()
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        let store = OutboxStore(pool: pool)
        let dead = try #require(try await lease(in: pool).first)
        try await scene.endLeases()
        let second = try #require(try await lease(in: pool).first)
        #expect(second.callID == call && dead.epoch == 1 && second.epoch == 2)
        let answer = CallRules.Verdict.answer([Array("{}".utf8)])
        let verdicts = [answer, .refuse(reason: "late"), .giveUp(reason: "late"), .postpone(reason: "late", by: .seconds(1))]
        for verdict in verdicts { #expect(try await store.settle(dead, verdict) == false) }
        try await store.release(dead)
        #expect(try await scene.calls() == ["open 0 t"])
        #expect(try await scene.answers() == [])
        #expect(try await store.settle(second, answer))
        for verdict in verdicts { #expect(try await store.settle(dead, verdict) == false) }
        #expect(try await scene.calls() == ["answered 1 f"])
        #expect(try await scene.answers() == ["verify_receipt \(call) 1"])
        await pool.close()
        await scene.server.stop()
    }

    @Test func `a call is leased to only one of many workers`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        for key in 0..<20 { try await scene.call(key: "\(key)") }
        let pool = try scene.database.pool(user: "appstore_worker", connections: 8)
        let leased = try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { try await lease(atMost: 5, in: pool).map(\.callID) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(leased.sorted() == Array(Set(leased)).sorted())
        let rest = try await lease(atMost: 20, in: pool).map(\.callID)
        #expect(leased.count + rest.count == 20 && Set(leased).isDisjoint(with: rest))
        await pool.close()
        await scene.server.stop()
    }

    @Test func `a worker leases calls of its kinds and apps, longest waiting first`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        let apps = ["com.example.one", "com.example.two", "com.example.three", "com.example.one"]
        var calls: [Int64] = []
        for (index, app) in apps.enumerated() { calls.append(try await scene.call(key: "\(index)", bundleID: app)) }
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        #expect(try await lease("webhook", of: apps, in: pool).isEmpty)
        #expect(try await lease(of: ["com.example.four"], in: pool).isEmpty)
        #expect(try await lease(of: [], in: pool).isEmpty)
        #expect(try await lease(of: ["com.example.one", "com.example.two"], atMost: 2, in: pool).map(\.callID) == Array(calls[0...1]))
        #expect(try await lease(of: ["com.example.one", "com.example.two"], atMost: 2, in: pool).map(\.callID) == [calls[3]])
        #expect(try await scene.database.lines("SELECT concat(epoch, attempts) FROM appstore.outbox WHERE NOT is_leased") == ["00"])
        await pool.close()
        await scene.server.stop()
    }

    @Test func `calls of a lower priority number come first, and each environment has calls of its own`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        var calls: [Int64] = []
        for key in 0..<6 { calls.append(try await scene.call(key: "\(key)")) }
        for (call, priority) in zip(calls, [4, 1, 0, 1, 2, 0]) { try await scene.change("priority = \(priority)", of: call) }
        try await scene.change("environment = 'Sandbox'", of: calls[5])
        try await scene.change("run_at = clock_timestamp() + interval '1 hour'", of: calls[1])
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        #expect(try await lease(atMost: 2, in: pool).map(\.callID) == [calls[2], calls[3]])
        #expect(try await lease(atMost: 9, in: pool).map(\.priority) == [4, 2])
        let lane = CallLane(Simulated.bundleID, .sandbox)
        let sandbox = try await OutboxStore(pool: pool).lease(["verify_receipt"], in: [lane], atMost: 9, for: .seconds(60))
        #expect(sandbox.map(\.callID) == [calls[5]] && sandbox.map(\.environment) == [.sandbox])
        let status = "SELECT concat_ws(' ', environment, priority) FROM appstore.outbox_status WHERE call_id = \(calls[5])"
        #expect(try await scene.database.lines("\(unsafeRaw: status)") == ["Sandbox 0"])
        await pool.close()
        await scene.server.stop()
    }

    @Test func `shutdown releases a call at once, so that another worker can make it`() async throws {
        let scene = try await OutboxScene(Simulated.store(steps: [.answer.by(.whenReleased)]))
        try await scene.call()
        try await scene.running { for await _ in scene.server.requests { break } }
        #expect(try await scene.calls() == ["open 0 f"])
        try await scene.running { await scene.log.lines(with: "call answered") }
        #expect(try await scene.calls() == ["answered 1 f"])
        await scene.server.stop()
    }

    @Test func `no connection is held and no transaction is open during a call`() async throws {
        var scene = try await OutboxScene(Simulated.store(last: .answer.by(.whenReleased)))
        scene.slots = 4
        for key in 0..<4 { try await scene.call(key: "\(key)") }
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        try await scene.running([pool]) { [scene] in
            var asked = 0
            for await _ in scene.server.requests {
                asked += 1
                if asked == 4 { break }
            }
            // All four calls hang; the only connection is free.
            let states = try await pool.withConnection { connection in
                try await connection.query(
                    """
                    SELECT concat_ws(' ', a.state, a.xact_start IS NULL) FROM pg_stat_activity AS a
                    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.usename = 'appstore_worker'
                    """
                )
            }
            #expect(try states.map { try $0.decode(0, as: String.self) } == [])
            let open = try await scene.database.lines(
                """
                SELECT a.state FROM pg_stat_activity AS a
                WHERE a.datname = current_database() AND a.usename = 'appstore_worker' AND a.xact_start IS NOT NULL
                """
            )
            #expect(open == [])
            scene.server.release()
            await scene.log.lines(with: "call answered", count: 4)
        }
        await pool.close()
        #expect(try await scene.answers().count == 4)
        await scene.server.stop()
    }
}
