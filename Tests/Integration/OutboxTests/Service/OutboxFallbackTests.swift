import AppStore
import InboxTesting
import Postgres
import StoreSimulator
import StoreSimulatorServer
import Testing

/// The receipt of a call without an answer enters the inbox as it is.
@Suite(.timeLimit(.minutes(3)))
struct OutboxFallbackTests {
    private static let source = "unanswered_receipt"

    /// The queued fallbacks in the inbox: the call and the body.
    private func fallbacks(_ scene: OutboxScene) async throws -> [String] {
        try await scene.database.lines(
            """
            SELECT concat_ws(' ', c.call_id, convert_from(i.body, 'UTF8'))
            FROM appstore.inbox AS i JOIN appstore.inbox_queue AS r USING (event_id)
            LEFT JOIN appstore.outbox AS c ON c.fallback_event_id = i.event_id
            WHERE i.source = 'unanswered_receipt' ORDER BY i.event_id
            """
        )
    }

    private func line(_ call: Int64) -> String { #"\#(call) {"receiptData" : "\#(Simulated.receiptData)"}"# }

    @Test func `the first failed attempt triggers the fallback once, without the user`() async throws {
        let scene = try await OutboxScene(Simulated.store(steps: [.status(.temporarilyUnavailable), .page(status: 503)]))
        let call = try await scene.call(fallback: Self.source)
        try await scene.running { await scene.log.lines(with: "call answered") }
        #expect(try await scene.calls() == ["answered 3 f"])
        #expect(try await fallbacks(scene) == [line(call)])
        await scene.server.stop()
    }

    @Test func `a call with an answer, or without a fallback source, has no fallback`() async throws {
        let answered = try await OutboxScene(Simulated.store())
        try await answered.call(fallback: Self.source)
        try await answered.running { await answered.log.lines(with: "call answered") }
        #expect(try await fallbacks(answered) == [])
        await answered.server.stop()
        let silent = try await OutboxScene(Simulated.store(last: .status(.wrongSharedSecret)))
        try await silent.call()
        try await silent.running { await silent.log.lines(with: "call refused") }
        #expect(try await fallbacks(silent) == [])
        await silent.server.stop()
    }

    @Test(arguments: [
        (VerifyReceiptScript.Step.status(.wrongSharedSecret), true), (.status(.notPosted), true), (.status(.notAuthenticated), false),
        (.status(.accountNotFound), false),
    ])
    func `a refusal triggers the fallback, unless Apple denies the receipt`(
        step: VerifyReceiptScript.Step,
        fallsBack: Bool
    ) async throws {
        let scene = try await OutboxScene(Simulated.store(last: step))
        let call = try await scene.call(fallback: Self.source)
        try await scene.running { await scene.log.lines(with: "call refused") }
        #expect(try await fallbacks(scene) == (fallsBack ? [line(call)] : []))
        await scene.server.stop()
    }

    @Test func `a call without an attempt for a minute falls back, and is made nevertheless`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        let (old, young) = (
            try await scene.call(key: "old", fallback: Self.source), try await scene.call(key: "young", fallback: Self.source)
        )
        let silent = try await scene.call(key: "silent")
        for call in [old, silent] { try await scene.change("asked_at = clock_timestamp() - interval '61 seconds'", of: call) }
        try await scene.change("asked_at = clock_timestamp() - interval '30 seconds'", of: young)
        for count in [1, 0] {
            let rows = try await scene.database.withConnection(user: "appstore_worker") {
                try await $0.query("SELECT appstore.expire_calls()")
            }
            #expect(try rows.first?.decode(0, as: Int64.self) == Int64(count))
            #expect(try await fallbacks(scene) == [line(old)])
        }
        try await scene.running { await scene.log.lines(with: "call answered", count: 3) }
        #expect(try await scene.calls() == ["answered 1 f", "answered 1 f", "answered 1 f"])
        #expect(try await fallbacks(scene) == [line(old)])
        await scene.server.stop()
    }

    @Test func `an expired lease triggers no fallback`() async throws {
        let scene = try await OutboxScene(SimulatedReceiptStore())
        let call = try await scene.call(fallback: Self.source)
        let ends: [Statement] = [
            "SELECT appstore.postpone_call(\(call), 6, 'timed_out', '1 second')",
            "SELECT appstore.end_call(\(call), 6, 'given_up', 'timed_out', true)",
        ]
        try await scene.change("epoch = 7, is_leased = true", of: call)
        for end in ends {
            let rows = try await scene.database.withConnection(user: "appstore_worker") { try await $0.query(end) }
            #expect(try rows.first?.decode(0, as: Bool.self) == false)
        }
        #expect(try await fallbacks(scene) == [])
        #expect(try await scene.calls() == ["open 0 t"])
        await #expect(throws: PostgresError.self) {
            try await scene.database.withConnection(user: "appstore_worker") { connection in
                try await connection.execute("SELECT appstore.end_call(\(call), 7, 'answered', 'x', true)")
            }
        }
        await scene.server.stop()
    }

    @Test func `forgetting a post deletes its fallback, and prevents a new one`() async throws {
        let scene = try await OutboxScene(Simulated.store(last: .status(.wrongSharedSecret)))
        let call = try await scene.call(fallback: Self.source)
        try await scene.running { await scene.log.lines(with: "call refused") }
        #expect(try await fallbacks(scene) == [line(call)])
        _ = try await scene.database.withConnection { connection in
            try await connection.execute(
                """
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
                SELECT event_id, source, now(), now(), 1, 1, 'applied' FROM appstore.inbox WHERE source = 'client_receipt'
                """
            )
        }
        _ = try await scene.database.withConnection(user: "appstore_operator") { connection in
            try await connection.execute("SELECT appstore.forget('anna')")
        }
        #expect(try await scene.database.lines("SELECT source FROM appstore.inbox") == [])
        // The post is gone.
        try await scene.change("state = 'open', reason = NULL, settled_at = NULL, fallback_event_id = NULL, run_at = now()", of: call)
        try await scene.running { await scene.log.lines(with: "call refused", count: 2) }
        #expect(try await scene.calls() == ["refused receipt_gone 2 f"])
        #expect(try await fallbacks(scene) == [])
        await scene.server.stop()
    }
}
