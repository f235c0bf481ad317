import Foundation
import InboxTesting
import NIOHTTP1
import Postgres
import PostgresTesting
import PrometheusTesting
import ServiceSupport
import Synchronization
import Testing

@testable import Feed

/// The service with a real database and real receivers.
@Suite(.timeLimit(.minutes(5)))
struct WebhookServiceTests {
    private func make(_ receiver: Receiver, _ settings: String = "") async throws -> WebhookScene {
        let scene = try await WebhookScene.make()
        try await scene.operate("SELECT appstore.make_endpoint('crm', \(receiver.url)\(unsafeRaw: settings))")
        return scene
    }

    @Test func `entries arrive in order with the fields of a webhook, and the database says so`() async throws {
        let receiver = try await Receiver.start()
        let scene = try await make(receiver)
        try await scene.tell(["a", "b", "a"])
        try await scene.running { try await scene.awaitDelivery() }
        #expect(try await receiver.requests.map(\.id).sorted() == scene.ids().sorted())
        let request = try #require(receiver.requests.first)
        #expect(request.headers["content-type"] == ["application/json"] && request.headers["x-endpoint"] == ["crm"])
        #expect(request.headers["user-agent"].first?.hasPrefix("appstore-inbox") == true && request.text.contains(#""position" : "#))
        #expect(try await scene.attempts() == ["2 delivered/204", "3 delivered/204", "4 delivered/204"])
        #expect(try await scene.state("state, leased_until IS NULL, failures, succeeded_at IS NOT NULL") == "enabled t 0 t")
        let metrics = try ExposedMetrics(scene.registry.render())
        #expect(metrics.value("appstore_inbox_endpoint_attempts_total", ["endpoint": "crm", "result": "delivered"]) == 3)
        #expect(metrics.count("appstore_inbox_endpoint_seconds", ["endpoint": "crm"]) == 3)
        await receiver.stop()
    }

    @Test func `a failed entry is tried again, holds its subject only, and a test keeps its answer`() async throws {
        let failures = Mutex<[String: Int]>([:])
        let receiver = try await Receiver.start { request in
            guard request.text.contains("poison") else { return .status(200, body: Array("thanks\0".utf8)) }
            return failures.withLock {
                $0[request.id, default: 0] += 1; return $0[request.id] ?? 0
            } <= 2
                ? .status(500, body: Array("\0broken\u{ff}".utf8) + [0xff]) : .status(200)
        }
        let scene = try await make(receiver, ", types => '{effect.*}'")
        try await scene.tell(["a"], data: #"{"x": "poison"}"#)
        try await scene.tell(["a", "b", "a"])
        try await scene.operate("SELECT appstore.test_endpoint('crm')")
        try await scene.running {
            try await scene.database.sequenceFeed()
            try await eventually("the others are delivered") { try await scene.attempts().count { $0.contains("delivered") } == 2 }
            #expect(
                try await scene.database.lines("SELECT position || ' ' || attempts FROM appstore.open_deliveries ORDER BY position") == [
                    "2 1", "3 0", "5 0",
                ]
            )
            try await withThrowingTaskGroup { group in
                group.addTask { try await scene.timeLapse() }
                try await scene.awaitDelivery()
                group.cancelAll()
            }
        }
        let own = try await scene.ids(of: "a")
        #expect(receiver.requests.map(\.id).filter(own.contains) == [own[0], own[0], own[0], own[1], own[2]])
        #expect(try await scene.attempts()[0] == "2 failed/500 failed/500 delivered/200")
        #expect(
            try await scene.database.lines("SELECT DISTINCT answer FROM appstore.delivery_attempts WHERE answer IS NOT NULL ORDER BY 1")
                == ["?brokenÿ\u{fffd}", "thanks?"]
        )
        await receiver.stop()
    }

    @Test func `a receiver of every kind of trouble gets the rest`() async throws {
        let receiver = try await Receiver.start { request in
            guard request.headers["x-endpoint"] == ["crm"] else { return .status(200) }
            switch request.text {
            case let text where text.contains("large"): return .large(64 * 1_048_576)
            case let text where text.contains("redirect"): return .status(302, [("location", "http://169.254.169.254/")])
            case let text where text.contains("breaks"): return .breakOff()
            case let text where text.contains("slow"): return .after(.milliseconds(500), status: 200)
            case let text where text.contains("silent"): return .silence
            default: return .status(204)
            }
        }
        let scene = try await make(receiver, ", timeout_seconds => 1")
        for manner in ["large", "redirect", "breaks", "slow", "silent", "fine"] {
            try await scene.tell([manner], data: "{\"x\": \"\(manner)\"}")
        }
        try await scene.running {
            try await eventually("each has an attempt") { try await scene.attempts().count == 6 }
        }
        let attempts = try await scene.attempts()
        #expect(attempts == ["2 delivered/200", "3 failed/302", "4 failed", "5 delivered/200", "6 failed", "7 delivered/204"])
        #expect(try await scene.state("position, state") == "7 enabled")
        #expect(try await scene.database.lines("SELECT error FROM appstore.delivery_attempts WHERE position = 6") == ["timed out"])
        #expect(receiver.sentBytes < 32 * 1_048_576)
        await receiver.stop()
    }

    @Test func `410 disables, and the rest waits`() async throws {
        let receiver = try await Receiver.start { _ in .status(410) }
        let scene = try await make(receiver, ", max_in_flight => 1")
        try await scene.tell(["a", "b", "c"])
        try await scene.running {
            try await eventually("it is disabled") { try await scene.state("state") == "disabled" }
        }
        #expect(receiver.requests.count == 1)
        #expect(try await scene.state("why, position") == "the endpoint answered 410 Gone 1")
        #expect(scene.log.text.contains("error endpoint is disabled"))
        await receiver.stop()
    }

    @Test func `an endpoint that is down opens the breaker, and a success closes it`() async throws {
        let isDown = Mutex(true)
        let receiver = try await Receiver.start { _ in .status(isDown.withLock(\.self) ? 503 : 200) }
        let scene = try await make(receiver)
        try await scene.tell((0..<40).map { "\($0)" })
        try await scene.running {
            try await eventually("the breaker is open") { try await scene.state("open_until IS NOT NULL") == "t" }
            isDown.withLock { $0 = false }
            try await withThrowingTaskGroup { group in
                group.addTask { try await scene.timeLapse() }
                try await scene.awaitDelivery()
                group.cancelAll()
            }
        }
        #expect(try await scene.state("open_until IS NULL, failures, failing_since IS NULL") == "t 0 t")
        #expect(receiver.requests.count <= 2 * 40 + 8 + 3 && scene.log.text.contains("endpoint works again"))
        await receiver.stop()
    }

    @Test func `pause, resume and another URL are noticed within a poll`() async throws {
        let (first, second) = (try await Receiver.start { _ in .after(.milliseconds(20), status: 204) }, try await Receiver.start())
        let scene = try await make(first, ", max_in_flight => 1")
        try await scene.tell((0..<400).map { "\($0)" })
        try await scene.running {
            try await eventually("some are sent") { first.requests.count > 5 }
            try await scene.operate("SELECT appstore.pause_endpoint('crm', 'a test')")
            let paused = ContinuousClock.now
            try await eventually("the lease has ended") { try await scene.state("leased_until IS NULL") == "t" }
            #expect(first.requests.allSatisfy { $0.at < paused + .milliseconds(1500) })
            let count = first.requests.count
            try await scene.operate("SELECT appstore.change_endpoint('crm', jsonb_build_object('url', \(second.url), 'max_in_flight', 8))")
            try await scene.operate("SELECT appstore.resume_endpoint('crm')")
            try await scene.awaitDelivery()
            #expect(first.requests.count == count && second.requests.count >= 400 - count)
        }
        let arrived = Set((first.requests + second.requests).map(\.id))
        #expect(try await arrived == Set(scene.ids()))
        await first.stop()
        await second.stop()
    }

    @Test func `a redelivery repeats ids, beside what is new`() async throws {
        let receiver = try await Receiver.start()
        let scene = try await make(receiver)
        try await scene.tell((0..<30).map { "\($0 % 4)" })
        try await scene.running {
            try await scene.awaitDelivery()
            try await scene.operate("SELECT appstore.redeliver('crm', from_position => 2, upto_position => 31)")
            try await scene.tell(["new"])
            try await eventually("all came again") { receiver.requests.count == 61 }
            try await eventually("it is done") {
                try await scene.database.lines("SELECT state || ' ' || sent FROM appstore.redeliveries") == ["done 30"]
            }
        }
        let counts = Dictionary(grouping: receiver.requests, by: \.id).mapValues(\.count)
        #expect(try await scene.ids().map { counts[$0] ?? 0 } == Array(repeating: 2, count: 30) + [1])
        await receiver.stop()
    }

    @Test func `what the endpoint does not want moves the cursor`() async throws {
        let receiver = try await Receiver.start()
        let scene = try await make(receiver, ", types => '{order.paid}'")
        try await scene.tell((0..<2500).map { _ in "a" })
        try await scene.running { try await scene.awaitDelivery() }
        #expect(receiver.requests.isEmpty)
        await receiver.stop()
    }

    @Test func `nothing is sent without a master secret`() async throws {
        let receiver = try await Receiver.start()
        let scene = try await make(receiver)
        try await scene.tell(["a"])
        let masters = Mutex<WebhookMasters?>(nil)
        let epoch = try await scene.state("epoch")
        let pool = try scene.database.pool(user: "appstore_worker", connections: 2)
        let service = WebhookService(
            pool: pool,
            configuration: scene.configuration,
            masters: { masters.withLock(\.self) },
            headers: { _ in [] },
            logger: scene.log.logger
        )
        try await scene.running([service]) {
            try await eventually("it is reported") { scene.log.text.contains("there is no secret to sign them with") }
            #expect(try await scene.state("epoch") == epoch)
            let found = try WebhookMasters(WebhookScene.master)
            masters.withLock { $0 = found }
            try await scene.awaitDelivery()
        }
        #expect(receiver.requests.count == 1)
        await pool.close()
        await receiver.stop()
    }

    @Test func `an outage of the database stops sending and loses nothing`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let receiver = try await Receiver.start { _ in .after(.milliseconds(5), status: 204) }
        let scene = try await WebhookScene.make(in: cluster)
        try await scene.operate("SELECT appstore.make_endpoint('crm', \(receiver.url))")
        try await scene.tell((0..<1000).map { "\($0 % 30)" })
        let ids = try await scene.ids()
        try await scene.running {
            try await eventually("some are sent") { receiver.requests.count > 50 }
            await cluster.kill()
            let count = receiver.requests.count
            try await pause(.milliseconds(600))
            #expect(receiver.requests.count <= count + 16, "it goes on without a database")
            try await cluster.launch()
            try await scene.awaitDelivery()
        }
        #expect(Set(receiver.requests.map(\.id)) == Set(ids))
        // At most what was not settled came again, with the same ids.
        #expect(receiver.requests.count <= 1000 + 120, "\(receiver.requests.count)")
        await cluster.stop()
        await receiver.stop()
    }

    @Test func `neither log nor attempts hold a payload, a secret or a URL's path`() async throws {
        let receiver = try await Receiver.start { _ in .status(500) }
        let scene = try await WebhookScene.make()
        try await scene.operate("SELECT appstore.make_endpoint('crm', \("\(receiver.url)/token-in-path?key=token-in-query"))")
        try await scene.tell(["subject-of-entry"], data: #"{"x": "payload-text"}"#)
        try await scene.running { try await eventually("it has failed") { try await scene.attempts() != [] } }
        let stored = try await scene.database.lines("SELECT string_agg(concat_ws(' ', error, answer), ' ') FROM appstore.delivery_attempts")
        for text in ["payload-text", "token-in", "whsec_", WebhookScene.master, "Basic "] {
            #expect(!scene.log.text.contains(text) && !stored.joined().contains(text))
        }
        await receiver.stop()
    }
}
