package import Outbox

/// The result of a request to the App Store Server API.
package enum ServerAPIResult: Sendable {
    /// A 2xx whose environment and app, where it names them, are those of the request.
    case answered(ServerAPIAnswer)
    /// Apple refuses the request: the same one would be refused again.
    case refused(ServerAPIRefusal)
    /// The same request may succeed later.
    case later(ServerAPIDelay)
    /// This process shuts down.
    case shuttingDown

    /// The result of an attempt that ends with this one; nil when the shutdown came first.
    ///
    /// - Parameter bodies: what an answer becomes in the inbox, one event each.
    package func callResult(_ bodies: (ServerAPIAnswer) -> [[UInt8]]) -> CallResult? {
        switch self {
        case .answered(let answer): .answered(bodies(answer))
        case .refused(let refusal): .refused(reason: refusal.reason)
        case .later(let delay):
            .later(reason: delay.reason, notBefore: delay.notBefore, countsAttempt: delay.countsAttempt)
        case .shuttingDown: nil
        }
    }
}

/// Why a request has to wait. Only Apple's own words refuse a request: what a proxy or an outage answers in its place ends at some time.
package struct ServerAPIDelay: Hashable, Sendable {
    /// A code, such as `rate_limited`, `budget`, `api_key`, `no_api_key`, `http_503`, `apple_4040008` or `timed_out`.
    package var reason: String
    /// The delay that Apple or the budget asks for; nil leaves it to the caller's back-off.
    package var notBefore: Duration?
    /// False where the request is not the cause: the budget, a 429, a refused key.
    package var countsAttempt = true

    package init(_ reason: String, notBefore: Duration? = nil, countsAttempt: Bool = true) {
        self.reason = reason
        self.notBefore = notBefore
        self.countsAttempt = countsAttempt
    }

    /// Whether the budget is empty for a moment; it is not, where Apple has blocked the endpoint.
    var isOfBudget: Bool { reason == "budget" }

    init(_ failure: ExchangeFailure) {
        self.init(failure.rawValue)
    }
}

/// The refusal of a request, by Apple or, before it is sent, by this program.
package struct ServerAPIRefusal: Hashable, Sendable {
    /// A value of the path is missing or would name another path. Nothing was sent.
    package static let incompletePath = ServerAPIRefusal(code: .notSent, message: "not sent: a value of the path is missing")

    package let code: ServerAPIErrorCode
    /// Apple's words, on one line and shortened; empty when there are none.
    package let message: String

    package init(code: ServerAPIErrorCode, message: String = "") {
        self.code = code
        self.message = message
    }

    /// A code for tables, such as `apple_4000006`, or `path_incomplete`.
    package var reason: String { code == .notSent ? "path_incomplete" : "apple_\(code.rawValue)" }
}
