import AppStore
import Outbox
import PrometheusTesting
import ServiceSupport
import StrictJSON
import Synchronization
import Testing

@testable import ServerAPI

/// What the client sends, and what it makes of each answer.
struct ServerAPIClientTests {
    private let lane = ScriptedAPI.production

    @Test func `a request goes to the environment's host, with a token, and with a body where there is one`() async throws {
        let api = ScriptedAPI([.json(200, "{}"), .status(202)])
        let client = api.client([try ScriptedAPI.key("ONE")])
        let first = await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange)
        let consumption = ServerAPIRequest(
            .consumption,
            of: "com.example.app",
            in: .sandbox,
            path: ["42"],
            body: ["customerConsented": true]
        )
        let second = await client.send(consumption, class: .deadline, through: api.exchange)
        #expect(first.summary == "answered 200" && second.summary == "answered 202")
        let requests = api.requests
        #expect(
            requests.map(\.url) == [
                "https://api.storekit.apple.com/inApps/v1/transactions/42",
                "https://api.storekit-sandbox.apple.com/inApps/v2/transactions/consumption/42",
            ]
        )
        #expect(requests.map(\.method) == [.get, .put] && requests[0].body.isEmpty)
        #expect(requests[1].body == Array(#"{"customerConsented":true}"#.utf8))
        #expect(requests[1].headers.contains { $0.name == "content-type" && $0.value == "application/json" })
        #expect(requests.allSatisfy { $0.maximumAnswerBytes < 4 * 1024 * 1024 })
        #expect(Set(api.tokens).count == 2 && api.budget.classes == [.interactive, .deadline])
    }

    @Test func `a token serves many requests of one app`() async throws {
        let api = ScriptedAPI(Array(repeating: .json(200, "{}"), count: 3))
        let client = api.client([try ScriptedAPI.key("ONE")])
        for _ in 0..<3 { _ = await client.send(ScriptedAPI.request(), class: .import, through: api.exchange) }
        #expect(Set(api.tokens).count == 1)
    }

    @Test func `after a 401 the other key is used, with a token of its own, and stays in use`() async throws {
        let api = ScriptedAPI([.status(401), .json(200, "{}"), .json(200, "{}")])
        let client = api.client([try ScriptedAPI.key("NEW"), try ScriptedAPI.key("OLD")])
        #expect(await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange).summary == "answered 200")
        #expect(await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange).summary == "answered 200")
        #expect(api.requests.count == 3 && api.tokens[0] != api.tokens[1] && api.tokens[1] == api.tokens[2])
        #expect(client.refusal(of: lane) == nil)
        #expect(api.log.lines.contains { $0.hasPrefix("warning: Apple refuses the key") && $0.contains("NEW") })
    }

    @Test func `when all keys are refused, nothing is asked for a minute, no attempt counts, and the cause is told`() async throws {
        let api = ScriptedAPI([.status(401), .status(401), .json(200, "{}")])
        let client = api.client([try ScriptedAPI.key("NEW"), try ScriptedAPI.key("OLD")])
        func send(_ lane: CallLane = ScriptedAPI.production) async -> String {
            await client.send(ScriptedAPI.request(lane), class: .deadline, through: api.exchange).summary
        }
        #expect(await send() == "later api_key uncounted 60s" && api.requests.count == 2)
        #expect(client.refusal(of: lane) == .unknown)
        #expect(await send() == "later api_key uncounted 60s" && api.requests.count == 2)
        // Sandbox is asked meanwhile, and explains the refusal.
        #expect(await send(ScriptedAPI.sandbox) == "answered 200")
        #expect(client.refusal(of: lane) == .notReleased)
        api.advance(by: .seconds(60))
        api.answer(with: .json(200, "{}"))
        #expect(await send() == "answered 200" && client.refusal(of: lane) == nil)
        #expect(api.log.lines.contains { $0.hasPrefix("notice: Apple accepts the key again") })
        let metrics = try ExposedMetrics(api.registry.render())
        #expect(metrics.value("appstore_inbox_server_api_key_refused_total", ["cause": "unknown"]) == 2)
    }

    @Test func `a clock that is wrong is told with its distance, and measured`() async throws {
        // Two minutes before the client's time.
        let api = ScriptedAPI([.status(401, date: "Mon, 21 Sep 2026 14:11:20 GMT")])
        let client = api.client([try ScriptedAPI.key("ONE")])
        _ = await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange)
        #expect(client.refusal(of: lane) == .clock(.seconds(120)))
        #expect(api.log.lines.contains { $0.contains("120 s ahead of Apple's") })
        #expect(try ExposedMetrics(api.registry.render()).value("appstore_inbox_server_api_clock_skew_seconds") == 120)
    }

    @Test func `a 401 drops the token, so that a clock that was set makes another`() async throws {
        let api = ScriptedAPI([.status(401), .json(200, "{}")])
        let client = api.client([try ScriptedAPI.key("ONE")])
        _ = await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange)
        api.advance(by: .seconds(61))
        _ = await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange)
        #expect(Set(api.tokens).count == 2)
    }

    @Test func `a 429 blocks the endpoint for as long as Apple says, without an attempt`() async throws {
        let at = ScriptedAPI.start.millisecondsSince1970 + 90_000
        let api = ScriptedAPI([.json(429, #"{"errorCode":4290000}"#, retryAfter: "\(at)"), .json(429, "", retryAfter: "soon")])
        let client = api.client([try ScriptedAPI.key("ONE")])
        let first = await client.send(ScriptedAPI.request(), class: .import, through: api.exchange)
        let second = await client.send(ScriptedAPI.request(), class: .import, through: api.exchange)
        #expect(first.summary == "later rate_limited uncounted 90s" && second.summary == "later rate_limited uncounted 60s")
        #expect(api.budget.blocks == [.seconds(90), nil])
    }

    @Test func `an empty budget sends nothing and counts no attempt`() async throws {
        let api = ScriptedAPI([])
        let client = api.client([try ScriptedAPI.key("ONE")])
        api.budget.decide(.wait(.seconds(2), isBlocked: false), .wait(.seconds(30), isBlocked: true), .unavailable)
        var summaries: [String] = []
        for _ in 0..<3 { summaries.append(await client.send(ScriptedAPI.request(), class: .import, through: api.exchange).summary) }
        #expect(summaries == ["later budget uncounted 2s", "later rate_limited uncounted 30s", "later budget_unavailable uncounted 5s"])
        #expect(api.requests.isEmpty)
    }

    @Test func `an app without a key is asked about by other workers`() async throws {
        let api = ScriptedAPI([])
        let (one, two) = (try ScriptedAPI.key("ONE"), try ScriptedAPI.key("TWO", issuer: "69a6de70-0000-47e3-e053-5b8c7c11a4d1"))
        #expect(api.client([]).lanes == [])
        #expect(api.client([one]).lanes == [ScriptedAPI.production, ScriptedAPI.sandbox])
        // Of two accounts the settings must name one.
        #expect(api.client([one, two]).lanes == [])
        let named = api.client([one, two], issuers: ["com.example.app": two.id.issuer])
        #expect(named.lanes.count == 2)
        let result = await api.client([one, two]).send(ScriptedAPI.request(), class: .interactive, through: api.exchange)
        #expect(result.summary == "later no_api_key uncounted 60s" && api.requests.isEmpty)
    }

    @Test func `refusals, failures and shutdowns are told apart, and counted`() async throws {
        let api = ScriptedAPI([
            .notFound, .json(400, #"{"errorCode":4009999}"#), .json(500, #"{"errorCode":5000000}"#), .failure(.timedOut),
            .failure(.answerTooLarge), .failure(.shuttingDown),
        ])
        let client = api.client([try ScriptedAPI.key("ONE")])
        var summaries: [String] = []
        for _ in 0..<6 { summaries.append(await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange).summary) }
        #expect(
            summaries == [
                "refused apple_4040010", "refused apple_4009999", "later apple_5000000", "later timed_out", "later answer_too_large",
                "shutting down",
            ]
        )
        let metrics = try ExposedMetrics(api.registry.render())
        func count(_ status: String, _ code: String) -> Double? {
            metrics.value(
                "appstore_inbox_server_api_requests_total",
                ["endpoint": "transaction_info", "status": status, "code": code]
            )
        }
        #expect(
            count("404", "4040010") == 1 && count("400", "other") == 1 && count("500", "5000000") == 1 && count("timed_out", "none") == 1
        )
        // What Apple's support asks for.
        #expect(api.log.lines.contains { $0.hasPrefix("info:") && $0.contains("server_api.request_id=req-1") })
    }

    @Test func `a key that was corrected under its name is used at once, with a token of its own`() async throws {
        let api = ScriptedAPI([.status(401), .notFound])
        let keys = Mutex(try ScriptedAPI.key("ONE"))
        let client = ServerAPIClient(
            keys: { APIKeys([keys.withLock { $0 }], lanes: [ScriptedAPI.production]) },
            budget: api.budget,
            logger: api.log.logger,
            metrics: api.registry,
            now: { api.now }
        )
        func send() async -> String {
            await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange).summary
        }
        #expect(await send() == "later api_key uncounted 60s" && client.openLanes.isEmpty)
        let corrected = try ScriptedAPI.key("ONE")
        keys.withLock { $0 = corrected }
        #expect(client.openLanes == [ScriptedAPI.production] && client.refusal(of: ScriptedAPI.production) == nil)
        #expect(await send() == "refused apple_4040010")
        #expect(Set(api.tokens).count == 2)
    }

    @Test(arguments: [[], [""], ["."], [".."], ["1", "2"]])
    func `a path that would be another one is not sent`(path: [String]) async throws {
        let api = ScriptedAPI([])
        let request = ServerAPIRequest(.transactionInfo, of: "com.example.app", in: .production, path: path)
        let result = await api.client([try ScriptedAPI.key("ONE")]).send(request, class: .interactive, through: api.exchange)
        #expect(result.summary == "refused path_incomplete" && api.requests.isEmpty)
    }

    @Test func `no log line holds a token`() async throws {
        let api = ScriptedAPI([.status(401), .notFound, .json(200, "{}"), .status(503)])
        let client = api.client([try ScriptedAPI.key("NEW"), try ScriptedAPI.key("OLD")])
        for _ in 0..<4 { _ = await client.send(ScriptedAPI.request(), class: .interactive, through: api.exchange) }
        #expect(api.log.lines.count >= 4)
        for token in api.tokens { #expect(!api.log.lines.contains { $0.contains(token.split(separator: ".")[2]) }) }
        #expect("\(api.requests)".contains("Bearer") == false)
    }

    @Test func `results become results of calls`() {
        let refused = ServerAPIResult.refused(ServerAPIRefusal(code: .invalidTransactionID, message: ""))
        #expect(refused.callResult { _ in [] } == .refused(reason: "apple_4000006"))
        let later = ServerAPIResult.later(ServerAPIDelay("budget", notBefore: .seconds(2), countsAttempt: false))
        #expect(later.callResult { _ in [] } == .later(reason: "budget", notBefore: .seconds(2), countsAttempt: false))
        #expect(ServerAPIResult.shuttingDown.callResult { _ in [] } == nil)
    }
}
