import ServerAPI

/// What the result of a request about an item means. Pure: the walk acts on it.
enum ImportStep: Sendable {
    case store(ServerAPIElements)
    /// Apple knows no such id in this environment.
    case unknown
    /// Apple refuses the revision: ask for all of the history.
    case dropRevision
    /// The request failed. At the `atMost`-th time in a row the item does.
    case failed(reason: String, atMost: Int)
    /// Budget, rate limit or key: nothing of the app and environment can be asked for that long.
    case rest(reason: String, Duration)
    case shutDown

    /// Failures in a row after which an item is given up: with the back-off some ten hours.
    private static let attempts = 20

    init(_ result: ServerAPIResult, about item: ImportChunk.Item, in chunk: ImportChunk) {
        switch result {
        case .shuttingDown: self = .shutDown
        case .later(let delay) where !delay.countsAttempt: self = .rest(reason: delay.reason, delay.notBefore ?? .seconds(5))
        case .later(let delay): self = .failed(reason: delay.reason, atMost: Self.attempts)
        case .refused(let refusal):
            switch refusal.code.advice {
            case .otherEnvironment, .askOnceMore: self = .unknown
            case .dropRevision where item.revision != nil: self = .dropRevision
            default: self = .failed(reason: refusal.code.name == nil ? "apple_other" : refusal.reason, atMost: 1)
            }
        case .answered(let answer):
            do throws(ServerAPIAnswerFault) {
                let elements = try answer.elements()
                // A page that ends where it began would be asked for without end.
                let isStuck = elements.hasMore && (elements.revision == nil || elements.revision == item.revision)
                self = isStuck ? .failed(reason: "revision_repeated", atMost: 5) : .store(elements)
            } catch {
                self = .failed(reason: error.rawValue, atMost: 5)
            }
        }
    }
}
