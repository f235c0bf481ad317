import AppStore
import Logging
import OpenSSL
import Outbox
import ServiceSupport
import Synchronization

@testable import ServerAPI

/// A client whose answers are scripted, with a clock that a test moves.
final class ScriptedAPI: Sendable {
    static let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    static let start = Timestamp(millisecondsSince1970: 1_790_000_000_000)
    static let production = CallLane("com.example.app", .production)
    static let sandbox = CallLane("com.example.app", .sandbox)

    private struct State {
        var outcomes: [ExchangeOutcome]
        var requests: [OutboundRequest] = []
        var now = ScriptedAPI.start
    }

    private let state: Mutex<State>
    let registry = MetricRegistry([
        MetricDescription("appstore_inbox_server_api_requests_total", .counter, "Requests."),
        MetricDescription("appstore_inbox_server_api_key_refused_total", .counter, "Refusals."),
        MetricDescription("appstore_inbox_server_api_clock_skew_seconds", .gauge, "Skew."),
    ])
    let budget = ScriptedBudget()
    let log = CollectedLog()

    init(_ outcomes: [ExchangeOutcome] = []) {
        state = Mutex(State(outcomes: outcomes))
    }

    var requests: [OutboundRequest] { state.withLock(\.requests) }
    var now: Timestamp { state.withLock(\.now) }

    func advance(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }

    func answer(with outcomes: ExchangeOutcome...) { state.withLock { $0.outcomes += outcomes } }

    /// The bearer tokens of the requests.
    var tokens: [String] {
        requests.map { request in request.headers.first { $0.name == "authorization" }.map { String($0.value.dropFirst(7)) } ?? "none" }
    }

    func client(_ keys: [APIKey], issuers: [String: String] = [:], lanes: Set<CallLane> = [production, sandbox]) -> ServerAPIClient {
        let keys = APIKeys(keys, issuers: issuers, lanes: lanes)
        return ServerAPIClient(
            keys: { keys },
            budget: budget,
            logger: log.logger,
            metrics: registry,
            now: { self.now }
        )
    }

    /// Answers in the order of the script, then with 500.
    var exchange: Exchange {
        Exchange { request, _ in
            self.state.withLock { state in
                state.requests.append(request)
                return state.outcomes.isEmpty ? .answer(HTTPAnswer(status: 500)) : state.outcomes.removeFirst()
            }
        }
    }

    static func key(_ keyID: String, issuer: String = issuer) throws -> APIKey {
        APIKey(id: APIKey.ID(issuer: issuer, keyID: keyID), privateKey: try PrivateKey.generate(.p256))
    }

    static func request(_ lane: CallLane = production) -> ServerAPIRequest {
        ServerAPIRequest(.transactionInfo, of: lane.bundleID, in: lane.environment, path: ["42"])
    }
}

/// Grants everything unless it is told otherwise, and records blocks.
final class ScriptedBudget: APIBudget {
    private struct State {
        var decisions: [BudgetDecision] = []
        var blocks: [Duration?] = []
        var classes: [ServerAPIClass] = []
    }

    private let state = Mutex(State())

    var blocks: [Duration?] { state.withLock(\.blocks) }
    var classes: [ServerAPIClass] { state.withLock(\.classes) }

    func decide(_ decisions: BudgetDecision...) { state.withLock { $0.decisions += decisions } }

    func take(_: ServerAPIEndpoint, _: CallLane, _ urgency: ServerAPIClass) async -> BudgetDecision {
        state.withLock { state in
            state.classes.append(urgency)
            return state.decisions.isEmpty ? .granted : state.decisions.removeFirst()
        }
    }

    func block(_: ServerAPIEndpoint, _: CallLane, for delay: Duration?) async { state.withLock { $0.blocks.append(delay) } }
}

/// Every log line with its metadata.
final class CollectedLog: Sendable {
    private let text = Mutex<[String]>([])
    var lines: [String] { text.withLock(\.self) }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: CollectedLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            log.text.withLock { $0.append("\(event.level): \(event.message)\(all)") }
        }
    }
}

extension ExchangeOutcome {
    static func json(_ status: Int, _ text: String, retryAfter: String? = nil, date: String? = nil) -> ExchangeOutcome {
        .answer(HTTPAnswer(status: status, retryAfter: retryAfter, date: date, requestID: "req-1", body: Array(text.utf8)))
    }

    static func status(_ status: Int, date: String? = nil) -> ExchangeOutcome { .answer(HTTPAnswer(status: status, date: date)) }

    static let notFound = json(404, #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#)
}

extension ServerAPIResult {
    /// In a word or two, for comparison.
    var summary: String {
        switch self {
        case .answered(let answer): "answered \(answer.status)"
        case .refused(let refusal): "refused \(refusal.reason)"
        case .later(let delay):
            "later \(delay.reason)\(delay.countsAttempt ? "" : " uncounted")" + (delay.notBefore.map { " \($0.components.seconds)s" } ?? "")
        case .shuttingDown: "shutting down"
        }
    }
}
