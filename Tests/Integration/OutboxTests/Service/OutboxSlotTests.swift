import InboxTesting
import Postgres
import StoreSimulator
import StoreSimulatorServer
import Testing

@testable import Outbox

/// Each kind has slots of its own, each process makes the calls of its own apps, and whatever hangs is noticed.
@Suite(.timeLimit(.minutes(3)))
struct OutboxSlotTests {
    private func service(
        _ scene: OutboxScene,
        _ handlers: [StubCallHandler],
        _ servers: StubServers,
        _ pulses: Pulses = Pulses(),
        pool: ConnectionPool
    ) -> OutboxService {
        OutboxService(
            pool: pool,
            handlers: handlers,
            configuration: scene.configuration,
            logger: scene.log.logger,
            metrics: scene.registry,
            heartbeat: pulses.begin,
            exchange: servers.exchange
        )
    }

    @Test func `a kind whose server does not answer fills its own slots only`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        for key in 0..<5 { try await scene.open("webhook", key: "\(key)", payload: [1]) }
        let servers = StubServers(silent: ["webhook"])
        let pool = try scene.database.pool(user: "appstore_worker", connections: 2)
        let handlers = [StubCallHandler(kind: "webhook"), StubCallHandler(kind: "verify_receipt", slots: 1)]
        try await scene.running([service(scene, handlers, servers, pool: pool)]) {
            var hanging = 0
            for await _ in servers.requests {
                hanging += 1
                if hanging == 2 { break }
            }
            for key in 0..<3 { try await scene.open(key: "\(key)", payload: [1]) }
            await scene.log.lines(with: "call answered", count: 3)
            let leased = try await scene.database.lines("SELECT kind FROM appstore.outbox WHERE is_leased")
            #expect(leased == ["webhook", "webhook"])
        }
        #expect(servers.asked.count { $0 == "webhook" } == 2)
        #expect(try await scene.calls() == Array(repeating: "open 0 f", count: 5) + Array(repeating: "answered 1 f", count: 3))
        await pool.close()
        await scene.server.stop()
    }

    @Test func `more calls than slots are all made, once each`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        for key in 0..<50 { try await scene.open(key: "\(key)", payload: [1]) }
        let servers = StubServers(silent: [])
        let pool = try scene.database.pool(user: "appstore_worker", connections: 2)
        try await scene.running([service(scene, [StubCallHandler(kind: "verify_receipt", slots: 3)], servers, pool: pool)]) {
            await scene.log.lines(with: "call answered", count: 50)
        }
        #expect(servers.asked.count == 50)
        #expect(try await scene.database.lines("SELECT DISTINCT concat_ws(' ', state, epoch) FROM appstore.outbox") == ["answered 1"])
        await pool.close()
        await scene.server.stop()
    }

    @Test func `a call of an app without a secret is left to other workers, and shown as waiting for one`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        try await scene.call(key: "first", bundleID: "com.example.other")
        try await scene.call()
        try await scene.running { await scene.log.lines(with: "call answered") }
        #expect(try await scene.calls() == ["open 0 f", "answered 1 f"])
        #expect(try await scene.database.lines("SELECT epoch::text FROM appstore.outbox WHERE state = 'open'") == ["0"])
        let waits: Statement = "SELECT coalesce(waits_for, 'nothing') FROM appstore.outbox_status WHERE state = 'open'"
        #expect(try await scene.database.lines(waits) == ["nothing"])
        // A worker has tried it, and failed.
        try await scene.change("run_at = clock_timestamp() + interval '1 second', last_reason = 'timed_out', waits_for = 'timed_out'")
        #expect(try await scene.database.lines(waits) == ["timed_out"])
        try await scene.change("run_at = clock_timestamp() - interval '2 minutes'")
        #expect(try await scene.database.lines(waits) == ["no_worker"])
        await scene.server.stop()
    }

    @Test func `a process without apps runs no SQL`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        try await scene.call()
        let pulses = Pulses()
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        let handler = StubCallHandler(kind: "verify_receipt", lanes: [])
        try await scene.running([service(scene, [handler], StubServers(silent: []), pulses, pool: pool)]) { await pulses.more(3) }
        #expect(pool.counts.opened == 0)
        #expect(try await scene.calls() == ["open 0 f"])
        await pool.close()
        await scene.server.stop()
    }

    @Test func `an attempt that hangs does not beat, while polls for calls do`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        try await scene.open("webhook", key: "1", payload: [1])
        let (servers, pulses) = (StubServers(silent: ["webhook"]), Pulses())
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        try await scene.running([service(scene, [StubCallHandler(kind: "webhook")], servers, pulses, pool: pool)]) {
            for await _ in servers.requests { break }
            let before = pulses.all
            await pulses.more(5)
            let hanging = zip(before, pulses.all).filter { !$0.isFinished && !$1.isFinished }
            #expect(hanging.map(\.0) == [Pulses.Pulse(beats: 1)] && hanging.map(\.1) == [Pulses.Pulse(beats: 1)])
        }
        #expect(pulses.all.allSatisfy { $0.isFinished && $0.beats > 0 })
        await pool.close()
        await scene.server.stop()
    }

    @Test func `an attempt beats when it begins and when it is answered`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        try await scene.open(key: "1", payload: [1])
        let pulses = Pulses()
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        try await scene.running([service(scene, [StubCallHandler(kind: "verify_receipt")], StubServers(silent: []), pulses, pool: pool)]) {
            await scene.log.lines(with: "call answered")
        }
        #expect(pulses.all.filter { $0.beats != 1 } == [Pulses.Pulse(beats: 2, isFinished: true)])
        await pool.close()
        await scene.server.stop()
    }
}
