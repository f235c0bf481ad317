import ServerAPI

/// What the result of a request about an item means. Pure: the walk acts on it.
enum ImportStep: Sendable {
    case store(ServerAPIElements)
    /// Apple knows no such id in this environment.
    case unknown
    /// Apple refuses the revision: ask for all of the history.
    case dropRevision
    /// The request failed. At the `atMost`-th time in a row the item does. Where Apple has not answered, it may say nothing of the item.
    case failed(reason: String, atMost: Int, isAnswered: Bool)
    /// Budget, rate limit or key: nothing of the app and environment can be asked for that long.
    case rest(reason: String, Duration)
    case shutDown

    /// Whether it is Apple's answer, which says that it can be asked.
    var isAnswered: Bool {
        switch self {
        case .store, .unknown, .dropRevision: true
        case .failed(_, _, let isAnswered): isAnswered
        case .rest, .shutDown: false
        }
    }

    /// Failures in a row after which an item is given up: with the back-off some ten hours.
    private static let attempts = 20

    /// Retryable, and about the id.
    private static let answers: Set = ["apple_4040002", "apple_4040006"]

    /// - Parameter seen: where pages that were stored go on.
    init(_ result: ServerAPIResult, about item: ImportChunk.Item, after seen: Set<String>) {
        switch result {
        case .shuttingDown: self = .shutDown
        case .later(let delay) where !delay.countsAttempt: self = .rest(reason: delay.reason, delay.notBefore ?? .seconds(5))
        case .later(let delay):
            self = .failed(reason: delay.reason, atMost: Self.attempts, isAnswered: Self.answers.contains(delay.reason))
        case .refused(let refusal):
            switch refusal.code.advice {
            case .otherEnvironment, .askOnceMore: self = .unknown
            case .dropRevision where item.revision != nil: self = .dropRevision
            case _ where refusal.code == .appNotFound || refusal.code == .invalidAppIdentifier:
                self = .rest(reason: refusal.reason, .seconds(3600))
            // A code that Apple adds tomorrow may be about the app.
            case _ where refusal.code.name == nil && refusal.code != .notSent:
                self = .failed(reason: refusal.reason, atMost: Self.attempts, isAnswered: false)
            default: self = .failed(reason: refusal.reason, atMost: 1, isAnswered: true)
            }
        case .answered(let answer):
            do throws(ServerAPIAnswerFault) {
                let elements = try answer.elements()
                // A page that ends where it or an earlier one began would be asked for without end.
                let isStuck = elements.hasMore && (elements.revision == nil || elements.revision == item.revision)
                let isCircle = elements.hasMore && elements.revision.map(seen.contains) == true
                self =
                    isStuck || isCircle
                    ? .failed(reason: "revision_repeated", atMost: isCircle ? 1 : 5, isAnswered: true) : .store(elements)
            } catch {
                self = .failed(reason: error.rawValue, atMost: 5, isAnswered: false)
            }
        }
    }
}
