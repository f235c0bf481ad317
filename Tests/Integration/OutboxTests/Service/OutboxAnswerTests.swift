import AppStore
import InboxTesting
import Postgres
import StoreSimulator
import StoreSimulatorServer
import StrictJSON
import Synchronization
import Testing

@testable import Outbox

/// Calls that a simulated verifyReceipt answers or ends over HTTP.
@Suite(.timeLimit(.minutes(3)))
struct OutboxAnswerTests {
    @Test func `an answer becomes an event of the inbox, byte for byte`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        let call = try await scene.call()
        try await scene.running { await scene.log.lines(with: "call answered") }
        #expect(try await scene.calls() == ["answered 1 f"])
        #expect(try await scene.answers() == ["verify_receipt \(call) 1"])
        var expected = try Simulated.answer()
        expected.requestDate = Simulated.now
        let body = JSONSerializer.serialize(expected.json)
        let stored = try await scene.database.lines("SELECT encode(body, 'hex') FROM appstore.inbox WHERE source = 'verify_receipt'")
        #expect(stored == [body.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()])
        #expect(try scene.attempts("answered") == 1)
        await scene.server.stop()
    }

    @Test func `a receipt of the sandbox is sent to the sandbox`() async throws {
        let scene = try await OutboxScene(Simulated.store(.sandbox))
        try await scene.call()
        try await scene.running { await scene.log.lines(with: "call answered") }
        #expect(scene.server.received.map(\.host) == [.production, .sandbox])
        #expect(try await scene.calls() == ["answered 1 f"])
        await scene.server.stop()
    }

    @Test func `hosts that name each other are asked once each`() async throws {
        let scene = try await OutboxScene(Simulated.store(last: .otherHost))
        try await scene.call()
        try await scene.running { await scene.log.lines(with: "call refused") }
        #expect(scene.server.received.map(\.host) == [.production, .sandbox])
        #expect(try await scene.calls() == ["refused status_21008 1 f"])
        await scene.server.stop()
    }

    @Test func `the secret that Apple knows is found among two`() async throws {
        var scene = try await OutboxScene(Simulated.store(.sandbox, secrets: ["new"]))
        scene.secrets = ["old", "new"]
        try await scene.call()
        try await scene.running { [scene] in await scene.log.lines(with: "call answered") }
        #expect(scene.server.received.map(\.password) == ["old", "old", "new"])
        #expect(try await scene.calls() == ["answered 1 f"])
        await scene.server.stop()
    }

    @Test func `a final status ends a call with a warning that names the status`() async throws {
        let scene = try await OutboxScene(Simulated.store(last: .status(.accountNotFound)))
        let call = try await scene.call()
        let lines = Captured()
        try await scene.running { lines.set(await scene.log.lines(with: "call refused")) }
        #expect(lines.value == ["warning: call refused outbox.call=\(call) outbox.kind=verify_receipt outbox.reason=status_21010"])
        #expect(try await scene.calls() == ["refused status_21010 1 f"])
        #expect(try await scene.answers() == [] && scene.attempts("refused") == 1)
        await scene.server.stop()
    }

    @Test func `status 21002 is tried three times`() async throws {
        let scene = try await OutboxScene(Simulated.store(last: .status(.malformedReceiptData)))
        try await scene.call()
        try await scene.running { await scene.log.lines(with: "call refused") }
        #expect(scene.server.received.count == 3)
        #expect(try await scene.calls() == ["refused status_21002 3 f"])
        #expect(try scene.attempts("postponed") == 2)
        await scene.server.stop()
    }

    @Test func `temporary failures are retried`() async throws {
        let steps: [VerifyReceiptScript.Step] = [
            .status(.temporarilyUnavailable), .status(.init(rawValue: 21150), isRetryable: true), .page(status: 503), .page(),
            .busy(retryAfter: "0"), .redirect(to: "http://localhost:1/"), .answer.by(.cut(after: 20)), .answer.by(.reset),
        ]
        let scene = try await OutboxScene(Simulated.store(steps: steps))
        try await scene.call()
        try await scene.running { await scene.log.lines(with: "call answered") }
        #expect(scene.server.received.count == steps.count + 1)
        #expect(try await scene.calls() == ["answered \(steps.count + 1) f"])
        let reasons = scene.log.lines.compactMap { $0.contains("call postponed") ? $0.split(separator: "=").last.map(String.init) : nil }
        let expected = [
            "status_21005", "status_21150", "http_503", "answer_malformed", "http_429", "http_302", "connection_failed",
            "connection_failed",
        ]
        #expect(reasons == expected)
        await scene.server.stop()
    }

    @Test func `an answer that the inbox cannot hold is refused`() async throws {
        let scene = try await OutboxScene(Simulated.store(last: .large(5 * 1024 * 1024)))
        try await scene.call()
        try await scene.running { await scene.log.lines(with: "call refused") }
        #expect(try await scene.calls() == ["refused answer_too_large 1 f"])
        await scene.server.stop()
    }

    @Test func `an answer that the inbox does not accept is not retried`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        _ = try await scene.database.withConnection { connection in
            try await connection.execute("ALTER TABLE appstore.inbox ADD CHECK (source <> 'verify_receipt')")
        }
        try await scene.call()
        try await scene.running { await scene.log.lines(with: "call refused") }
        #expect(scene.server.received.count == 1)
        #expect(try await scene.calls() == ["refused answer_not_taken 1 f"])
        #expect(await scene.log.lines(with: "error: the inbox does not accept an answer").count == 1)
        await scene.server.stop()
    }

    @Test func `a call whose event has no body any more is refused without a request`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        _ = try await scene.open(key: "gone", event: 4711)
        _ = try await scene.open(key: "none", event: nil, payload: [1])
        try await scene.running { await scene.log.lines(with: "call refused", count: 2) }
        #expect(scene.server.received == [])
        #expect(try await scene.calls() == ["refused receipt_gone 1 f", "refused receipt_gone 1 f"])
        await scene.server.stop()
    }

    @Test func `a call past its deadline is given up after one more attempt`() async throws {
        let scene = try await OutboxScene(Simulated.store(last: .status(.temporarilyUnavailable)))
        let call = try await scene.call(timeLimit: .zero)
        let lines = Captured()
        try await scene.running { lines.set(await scene.log.lines(with: "call given up")) }
        #expect(lines.value == ["warning: call given up outbox.call=\(call) outbox.kind=verify_receipt outbox.reason=status_21005"])
        #expect(scene.server.received.count == 1)
        #expect(try await scene.calls() == ["given_up status_21005 1 f"])
        #expect(try scene.attempts("given_up") == 1)
        await scene.server.stop()
    }

    private let lane = CallLane(Simulated.bundleID, .production)

    @Test func `an answer has bodies where its kind has a source, and each fits the inbox`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        let webhook = try await scene.open("webhook", key: "1", payload: [1])
        let call = try await scene.call()
        let consumption = try await scene.open("consumption", key: "2", payload: [1])
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        let store = OutboxStore(pool: pool)
        let body = Array("{}".utf8)
        let tooLarge = [UInt8](repeating: 0x20, count: 4 * 1024 * 1024 + 1)
        func refused(_ call: LeasedCall, _ bodies: [[UInt8]]) async {
            let error = await #expect(throws: PostgresError.self) { try await store.settle(call, .answer(bodies)) }
            #expect(error?.code == .sql && error?.isRetryable == false)
        }
        let other = try #require(try await store.lease(["webhook"], in: [lane], atMost: 1, for: .seconds(60)).first)
        await refused(other, [body])
        await refused(other, [])
        let leased = try #require(try await store.lease(["verify_receipt"], in: [lane], atMost: 1, for: .seconds(60)).first)
        await refused(leased, [])
        await refused(leased, [body, tooLarge])
        let silent = try #require(try await store.lease(["consumption"], in: [lane], atMost: 1, for: .seconds(60)).first)
        await refused(silent, [body])
        #expect(other.callID == webhook && leased.callID == call && silent.callID == consumption)
        #expect(try await scene.calls() == ["open 0 t", "open 0 t", "open 0 t"])
        #expect(try await scene.answers() == [])
        // A call without a lease accepts no answer.
        try await store.release(leased)
        #expect(try await store.settle(leased, .answer([body])) == false)
        await pool.close()
        await scene.server.stop()
    }

    @Test func `an answer of several bodies becomes as many events, and one without becomes none`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        let call = try await scene.call()
        let consumption = try await scene.open("consumption", key: "2", payload: [1])
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        let store = OutboxStore(pool: pool)
        let pages = try #require(try await store.lease(["verify_receipt"], in: [lane], atMost: 1, for: .seconds(60)).first)
        #expect(try await store.settle(pages, .answer([Array("one".utf8), Array("two".utf8), Array("three".utf8)])))
        let silent = try #require(try await store.lease(["consumption"], in: [lane], atMost: 1, for: .seconds(60)).first)
        #expect(try await store.settle(silent, .answer([])))
        #expect(pages.callID == call && silent.callID == consumption)
        #expect(try await scene.calls() == ["answered 1 f", "answered 1 f"])
        let stored = try await scene.database.lines(
            "SELECT convert_from(body, 'UTF8') FROM appstore.inbox WHERE source = 'verify_receipt' ORDER BY event_id"
        )
        #expect(stored == ["one", "two", "three"])
        #expect(try await scene.answers().first == "verify_receipt \(call) 1")
        await pool.close()
        await scene.server.stop()
    }

    @Test func `a page leaves the call open and due, with the payload of the next, and a lost lease stores none`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        try await scene.open("transaction_history", key: "1", payload: [1])
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        let store = OutboxStore(pool: pool)
        func lease() async throws -> LeasedCall {
            try #require(try await store.lease(["consumption", "transaction_history"], in: [lane], atMost: 1, for: .seconds(60)).first)
        }
        let first = try await lease()
        #expect(try await store.settle(first, .postpone(reason: "http_503", by: .zero)))
        let second = try await lease()
        let page = CallRules.Verdict.page([Array("one".utf8)], answer: Array(#"{"pages":1}"#.utf8), next: [2])
        #expect(try await store.settle(second, page))
        #expect(try await scene.calls() == ["open 0 f"])
        #expect(try await store.settle(second, page) == false)
        let third = try await lease()
        #expect(third.payload == [2] && third.attempts == 0 && third.repeats == 0)
        #expect(try await store.settle(third, .page([Array("two".utf8)], answer: Array(#"{"pages":2}"#.utf8), next: nil)))
        let calls: Statement =
            "SELECT concat_ws(' ', state, answer, cardinality(answer_event_ids), answer_event_id = answer_event_ids[1]) FROM appstore.outbox_status"
        #expect(try await scene.database.lines(calls) == [#"answered {"pages": 2} 2 t"#])
        let tooMuch = CallRules.Verdict.page([], answer: Array(#"{"a":"\#(String(repeating: "x", count: 65_536))"}"#.utf8), next: nil)
        try await scene.open("extend_status", key: "2", payload: [1])
        let small = try #require(try await store.lease(["extend_status"], in: [lane], atMost: 1, for: .seconds(60)).first)
        await #expect(throws: PostgresError.self) { try await store.settle(small, tooMuch) }
        await pool.close()
        await scene.server.stop()
    }

    @Test func `a postponement that counts no attempt leaves the number of attempts and what they failed for`() async throws {
        let scene = try await OutboxScene(Simulated.store())
        try await scene.call()
        let pool = try scene.database.pool(user: "appstore_worker", connections: 1)
        let store = OutboxStore(pool: pool)
        for (countsAttempt, reason, shown) in [
            (false, "budget", "open 0 f"), (true, "http_400", "open http_400 1 f"), (false, "budget", "open http_400 1 f"),
        ] {
            let call = try #require(try await store.lease(["verify_receipt"], in: [lane], atMost: 1, for: .seconds(60)).first)
            #expect(try await store.settle(call, .postpone(reason: reason, by: .zero, countsAttempt: countsAttempt)))
            #expect(try await scene.calls() == [shown])
            #expect(try await scene.database.lines("SELECT waits_for FROM appstore.outbox_status") == [reason])
        }
        let call = try #require(try await store.lease(["verify_receipt"], in: [lane], atMost: 1, for: .seconds(60)).first)
        #expect(call.attempts == 1 && call.repeats == 1 && call.environment == .production && call.priority == 1)
        await pool.close()
        await scene.server.stop()
    }

    @Test func `an operator can repeat a call`() async throws {
        let scene = try await OutboxScene(Simulated.store(steps: [.status(.notAuthenticated)]))
        let call = try await scene.call()
        try await scene.running {
            await scene.log.lines(with: "call refused")
            _ = try await scene.database.withConnection(user: "appstore_operator") { connection in
                try await connection.execute("SELECT appstore.repeat_call(\(call), 'Apple was wrong')")
            }
            await scene.log.lines(with: "call answered")
        }
        #expect(try await scene.calls() == ["answered 1 f"])
        await scene.server.stop()
    }
}

/// Lines that a closure has found.
private final class Captured: Sendable {
    private let lines = Mutex<[String]>([])
    var value: [String] { lines.withLock(\.self) }
    func set(_ value: [String]) { lines.withLock { $0 = value } }
}
