package import AppStore
package import Logging
package import Metrics
import OpenSSL
package import Outbox
import StrictJSON
import Synchronization

/// The one way to ask Apple's App Store Server API: keys, tokens, budget, and what an answer means.
package final class ServerAPIClient: Sendable {
    /// The largest answer. As part of an event's body it must fit into the inbox.
    static let maximumAnswerBytes = 4 * 1024 * 1024 - 16_384
    private static let requestTimeout = Duration.seconds(30)

    private let hosts: ServerAPIHosts
    private let keys: @Sendable () -> APIKeys
    private let budget: any APIBudget
    private let metrics: ServerAPIMetrics
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let circuits = Mutex(KeyCircuits())
    private let tokens = Mutex(TokenCache())

    /// - Parameters:
    ///   - keys: asked for at each request.
    ///   - now: this machine's time.
    package init(
        hosts: ServerAPIHosts = ServerAPIHosts(),
        keys: @escaping @Sendable () -> APIKeys,
        budget: any APIBudget,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.hosts = hosts
        self.keys = keys
        self.budget = budget
        self.metrics = ServerAPIMetrics(factory: metrics)
        self.logger = logger
        self.now = now
    }

    /// The apps and environments that have a key.
    package var lanes: Set<CallLane> { keys().lanes }

    /// Those of them that have a key that may be used now.
    package var openLanes: Set<CallLane> {
        let (keys, now) = (keys(), now())
        return circuits.withLock { circuits in
            keys.lanes.filter { lane in
                if case .use = circuits.choose(of: keys.keys(of: lane.bundleID), for: lane, tried: [], now: now) { true } else { false }
            }
        }
    }

    /// Why Apple refuses the keys of an app, as far as the answers tell; nil while it accepts one or has refused none.
    package func refusal(of lane: CallLane) -> KeyRefusal? {
        let keys = keys().keys(of: lane.bundleID)
        return circuits.withLock { circuits in
            guard let first = keys.first, keys.allSatisfy({ circuits.record(of: $0, lane).isRefused }) else { return nil }
            return circuits.diagnosis(first.id, lane)
        }
    }

    /// Sends a request, and again with the next key after a 401. It never waits for budget, key or Apple: the caller comes back.
    package func send(_ request: ServerAPIRequest, class urgency: ServerAPIClass, through exchange: Exchange) async -> ServerAPIResult {
        guard request.isComplete else { return .refused(.incompletePath) }
        // Only configured apps and environments are asked about, also where an answer names another one.
        guard keys().lanes.contains(request.lane) else {
            return .later(ServerAPIDelay("no_api_key", notBefore: .seconds(60), countsAttempt: false))
        }
        var tried: Set<APIKey.ID> = []
        while true {
            let key: APIKey
            let candidates = keys().keys(of: request.lane.bundleID)
            switch circuits.withLock({ [now] in $0.choose(of: candidates, for: request.lane, tried: tried, now: now()) }) {
            case .use(let chosen): key = chosen
            // Not to the end of the wait, which is this worker's: another one may have a better key or clock.
            case .wait(let delay): return .later(ServerAPIDelay("api_key", notBefore: min(delay, .seconds(60)), countsAttempt: false))
            case .none: return .later(ServerAPIDelay("no_api_key", notBefore: .seconds(60), countsAttempt: false))
            }
            switch await budget.take(request.endpoint, request.lane, urgency) {
            case .granted: break
            case .wait(let delay, let isBlocked):
                return .later(ServerAPIDelay(isBlocked ? "rate_limited" : "budget", notBefore: delay, countsAttempt: false))
            case .unavailable: return .later(ServerAPIDelay("budget_unavailable", notBefore: .seconds(5), countsAttempt: false))
            }
            if let result = await ask(request, key, exchange) { return result }
            tried.insert(key.id)
        }
    }

    /// One exchange; nil when Apple refuses the key.
    private func ask(_ request: ServerAPIRequest, _ key: APIKey, _ exchange: Exchange) async -> ServerAPIResult? {
        let askedAt = now()
        let outbound: OutboundRequest
        do throws(OpenSSLError) {
            outbound = try self.outbound(request, key, askedAt)
        } catch {
            logger.error("a key cannot sign", metadata: [LogKey.key: "\(key.id)", LogKey.error: "\(error)"])
            return .later(ServerAPIDelay("api_key", notBefore: .seconds(60), countsAttempt: false))
        }
        let answer: HTTPAnswer
        switch await exchange.send(outbound, timeout: Self.requestTimeout) {
        case .failure(.shuttingDown): return .shuttingDown
        case .failure(let failure):
            metrics.count(request.endpoint, status: failure.rawValue, code: nil)
            return .later(ServerAPIDelay(failure))
        case .answer(let received): answer = received
        }
        let reaction = ServerAPIReaction(answer, to: request, now: now())
        observe(answer, to: request, key, reaction)
        switch reaction {
        case .answered:
            return .answered(ServerAPIAnswer(status: answer.status, body: answer.body, askedAt: askedAt, to: request))
        case .refused(let refusal): return .refused(refusal)
        case .later(let delay): return .later(delay)
        case .keyRefused: return nil
        case .rateLimited(let delay):
            await budget.block(request.endpoint, request.lane, for: delay)
            return .later(ServerAPIDelay("rate_limited", notBefore: delay ?? .seconds(60), countsAttempt: false))
        }
    }

    private func outbound(_ request: ServerAPIRequest, _ key: APIKey, _ now: Timestamp) throws(OpenSSLError) -> OutboundRequest {
        let host = hosts.url(of: request.lane.environment)
        let token = try tokens.withLock { tokens throws(OpenSSLError) in
            try tokens.token(key, bundleID: request.lane.bundleID, host: host, now: now)
        }
        var headers: [(name: String, value: String)] = [
            ("authorization", "Bearer \(token)"), ("accept", "application/json"), ("user-agent", "appstore-inbox"),
        ]
        if request.body != nil { headers.append(("content-type", "application/json")) }
        return OutboundRequest(
            request.endpoint.method,
            host + request.target,
            headers: headers,
            body: request.body.map { JSONSerializer.serialize($0) } ?? [],
            maximumAnswerBytes: Self.maximumAnswerBytes
        )
    }

    /// Counts and logs an answer, and records what it says of the key.
    private func observe(_ answer: HTTPAnswer, to request: ServerAPIRequest, _ key: APIKey, _ reaction: ServerAPIReaction) {
        let code = (200...299).contains(answer.status) ? nil : ErrorBody(answer.body)?.code
        metrics.count(request.endpoint, status: "\(answer.status)", code: code)
        let (now, date) = (now(), answer.date.flatMap(HTTPDate.parse))
        if let date { metrics.measured(skew: Double(now.millisecondsSince1970 - date.millisecondsSince1970) / 1000) }
        var metadata: Logger.Metadata = [
            LogKey.endpoint: "\(request.endpoint.rawValue)", LogKey.app: "\(request.lane.bundleID)",
            LogKey.environment: "\(request.lane.environment.rawValue)", LogKey.status: "\(answer.status)",
        ]
        if let code { metadata[LogKey.code] = "\(code.rawValue)" }
        if let id = answer.requestID { metadata[LogKey.requestID] = "\(id.prefix(100))" }
        // Refusals that Apple documents are the caller's to report.
        let isExpected = (200...299).contains(answer.status) || code?.name != nil && answer.status < 500
        let isLimit = answer.status == 429 || code == .rateLimitExceeded
        logger.log(level: isLimit ? .notice : isExpected ? .debug : .info, "the App Store Server API answered", metadata: metadata)
        switch reaction {
        case .keyRefused: refused(key, request.lane, date, now, metadata)
        // A gateway's answer says nothing of the key.
        case .answered, .refused, .rateLimited: accepted(key, request.lane, date, now)
        case .later: if code != nil { accepted(key, request.lane, date, now) }
        }
    }

    private func accepted(_ key: APIKey, _ lane: CallLane, _ date: Timestamp?, _ now: Timestamp) {
        guard circuits.withLock({ $0.record(key, lane, isRefused: false, date: date, now: now) }) else { return }
        let metadata: Logger.Metadata = [
            LogKey.key: "\(key.id)", LogKey.app: "\(lane.bundleID)", LogKey.environment: "\(lane.environment.rawValue)",
        ]
        logger.notice("Apple accepts the key again", metadata: metadata)
    }

    private func refused(_ key: APIKey, _ lane: CallLane, _ date: Timestamp?, _ now: Timestamp, _ metadata: Logger.Metadata) {
        tokens.withLock { $0.drop(key.id) }
        let (isNew, cause) = circuits.withLock { circuits in
            let isNew = circuits.record(key, lane, isRefused: true, date: date, now: now)
            return (isNew, circuits.diagnosis(key.id, lane))
        }
        metrics.refused(cause)
        let more: Logger.Metadata = [LogKey.key: "\(key.id)", LogKey.reason: "\(cause.explanation)", LogKey.remedy: "\(cause.remedy)"]
        logger.log(level: isNew ? .warning : .info, "Apple refuses the key", metadata: metadata.merging(more) { $1 })
    }
}

/// Where the App Store Server API is.
package struct ServerAPIHosts: Hashable, Sendable {
    /// Scheme, host and port.
    package var production = "https://api.storekit.apple.com"
    package var sandbox = "https://api.storekit-sandbox.apple.com"

    package init() {}

    func url(of environment: AppStoreEnvironment) -> String { environment == .sandbox ? sandbox : production }
}

/// The metrics of the App Store Server API.
private struct ServerAPIMetrics: Sendable {
    private let factory: any MetricsFactory
    private let skew: Gauge

    init(factory: any MetricsFactory) {
        self.factory = factory
        skew = Gauge(label: "appstore_inbox_server_api_clock_skew_seconds", factory: factory)
        // So that the first refusal is an increase.
        for code in KeyRefusal.codes { count(refusal: code, by: 0) }
    }

    /// Counts a request. Codes that Apple does not document are one series.
    ///
    /// - Parameter status: the HTTP status, or why there was no answer.
    func count(_ endpoint: ServerAPIEndpoint, status: String, code: ServerAPIErrorCode?) {
        let code = code.map { $0.name == nil ? "other" : "\($0.rawValue)" } ?? "none"
        let dimensions = [("endpoint", endpoint.rawValue), ("status", status), ("code", code)]
        Counter(label: "appstore_inbox_server_api_requests_total", dimensions: dimensions, factory: factory).increment()
    }

    func refused(_ cause: KeyRefusal) {
        count(refusal: cause.code, by: 1)
    }

    private func count(refusal code: String, by count: Int64) {
        Counter(label: "appstore_inbox_server_api_key_refused_total", dimensions: [("cause", code)], factory: factory).increment(by: count)
    }

    func measured(skew seconds: Double) { skew.record(seconds) }
}

/// The keys of what this module logs.
private enum LogKey {
    static let endpoint = "server_api.endpoint"
    static let app = "app"
    static let environment = "environment"
    static let status = "server_api.status"
    static let code = "server_api.code"
    static let requestID = "server_api.request_id"
    static let key = "server_api.key"
    static let reason = "server_api.reason"
    static let remedy = "server_api.remedy"
    static let error = "error"
}
