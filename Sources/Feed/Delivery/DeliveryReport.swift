/// What became of an entry.
struct DeliveryReport: Hashable, Sendable {
    enum Result: String, CaseIterable, Sendable {
        case delivered, failed, refused
        /// The endpoint has asked to wait.
        case later
        case probeFailed = "probe_failed"
        case givenUp = "given_up"
        /// An earlier entry of its subject holds it: no attempt was made.
        case held
    }

    let position: Int64
    let subject: String?
    let redeliveryID: Int64?
    let result: Result
    /// Failed attempts of the entry after this one.
    let attempts: Int
    /// When to try again; nil: at no time, or as it was.
    var wait: Duration?
    var status: Int?
    var duration: Duration = .zero
    var answerBytes = 0
    /// The beginning of the answer.
    var answer: String?
    var error: String?
}

/// What is settled in one statement.
struct DeliverySettlement: Sendable {
    /// The cursor of the endpoint.
    let position: Int64
    var reports: [DeliveryReport]
    let redeliveredThrough: (id: Int64, position: Int64)?
    let failures: Int
    let isFailing: Bool
    let openFor: Duration?
    let probes: Int
    let disableBecause: String?
}

/// What the outcome of an attempt means for its entry and its endpoint.
enum DeliveryVerdict: Hashable, Sendable {
    case delivered
    /// - Parameter isOfEndpoint: whether it counts for the breaker: the endpoint would fail others, too.
    case failed(DeliveryReport.Result, isOfEndpoint: Bool)
    /// The endpoint asks to wait.
    case later(Duration)
    /// The endpoint wants nothing more.
    case gone
    case proxyFailed(String)
    case cancelled

    init(_ outcome: DeliveryOutcome) {
        switch outcome {
        case .answered(let answer): self.init(answer)
        case .failed: self = .failed(.failed, isOfEndpoint: true)
        case .refused: self = .failed(.refused, isOfEndpoint: true)
        case .proxyFailed(let why): self = .proxyFailed(why)
        case .cancelled: self = .cancelled
        }
    }

    private init(_ answer: DeliveryAnswer) {
        switch (answer.status, answer.retryAfter) {
        case (200...299, _): self = .delivered
        case (410, _): self = .gone
        case (429, let asked?), (503, let asked?):
            self = .later(min(max(asked, RetrySchedule.retryAfter.lowerBound), RetrySchedule.retryAfter.upperBound))
        case (429, nil), (500..., _): self = .failed(.failed, isOfEndpoint: true)
        default: self = .failed(.failed, isOfEndpoint: false)
        }
    }

    var isOfEndpoint: Bool {
        switch self {
        case .failed(_, let isOfEndpoint): isOfEndpoint
        case .later: true
        case .delivered, .gone, .proxyFailed, .cancelled: false
        }
    }
}
