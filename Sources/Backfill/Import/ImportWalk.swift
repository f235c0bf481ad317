import AppStore
import Logging
import Outbox
import Postgres
import ServerAPI
import ServiceLifecycle
import ServiceSupport

/// Asks the items of one chunk, one after the other. Each answer is stored in a transaction of its own with the items that it settles, so that
/// a process that ends repeats one request at most.
struct ImportWalk: Sendable {
    /// How a lease ended.
    enum End: Sendable {
        case over
        /// None of the app's items can be asked for that long.
        case rests(Duration)
        /// Apple answers nothing.
        case silent
    }

    let store: ImportStore
    let client: ServerAPIClient
    let exchange: Exchange
    let lanes: ImportLanes
    let backoff: Backoff
    let logger: Logger
    /// Called before each step.
    let beat: @Sendable () -> Void

    /// How long a request waits for an empty budget, in all, and between two tries.
    private static let budgetWait = (longest: Duration.seconds(30), shortest: Duration.milliseconds(100))

    /// A failure, which is recorded when Apple answers something, at the end, or after a day of silence: until then the lane may be silent.
    private typealias Failure = (item: ImportChunk.Item, reason: String, atMost: Int)

    /// Asks until the chunk is settled, fails, or belongs to another process.
    ///
    /// - Throws: what the database refuses. The lease then expires.
    func run(_ chunk: ImportChunk) async throws -> End {
        var failures: [Failure] = []
        var reason: String?
        // What the answers of this lease were about.
        var answered: Set<String> = []
        // Of a silent lane any item is the first one: three that always fail would keep the others from being asked.
        let items = lanes.isSilent(chunk.lane) ? chunk.items.shuffled() : chunk.items
        for leased in items where !answered.contains(leased.id) {
            var item = leased
            var seen: Set<String> = []
            asking: while true {
                try Task.checkCancellation()
                guard !Task.isShuttingDownGracefully else { return try await end(chunk) }
                beat()
                let step = ImportStep(await ask(item, in: chunk), about: item, after: seen)
                if step.isAnswered {
                    lanes.hear(chunk.lane)
                    guard try await record(&failures, in: chunk) else { return lost(item, in: chunk) }
                }
                let did: ImportStore.Did?
                switch step {
                case .shutDown: return try await end(chunk)
                case .rest(let reason, let delay):
                    try await end(chunk, reason: reason)
                    return .rests(delay)
                case .dropRevision:
                    item.revision = nil
                    continue
                case .store(let elements):
                    did = try await settle(item, with: elements, in: chunk, &answered, &reason)
                    item.revision = elements.revision
                    if let revision = elements.revision { seen.insert(revision) }
                case .unknown: did = try await store.miss(item, reason: nil, in: chunk)
                case .failed(let cause, let atMost, isAnswered: true):
                    reason = atMost == 1 ? reason : cause
                    log("an item of an import cannot be asked", item, in: chunk, cause)
                    did = try await store.miss(item, reason: cause, atMost: atMost, in: chunk)
                case .failed(let cause, let atMost, isAnswered: false):
                    reason = cause
                    log("an item of an import cannot be asked", item, in: chunk, cause)
                    failures.append((item, cause, atMost))
                    let isSilent = lanes.miss(item.id, in: chunk.lane)
                    guard let isLong = try await store.renew(chunk) else { return lost(item, in: chunk) }
                    if isLong {
                        guard try await record(&failures, in: chunk) else { return lost(item, in: chunk) }
                    }
                    guard isSilent else { break asking }
                    try await end(chunk, reason: cause)
                    return .silent
                }
                switch did {
                case .more: continue
                case .settled: break asking
                case .stop: return try await end(chunk)
                case nil: return lost(item, in: chunk)
                }
            }
        }
        guard try await record(&failures, in: chunk) else { return .over }
        guard let reason else { return try await end(chunk) }
        var generator = SystemRandomNumberGenerator()
        let delay = backoff.delay(afterFailures: chunk.failures + 1, using: &generator)
        try await store.end(chunk, reason: reason, after: delay, counts: true)
        return .over
    }

    /// Counts failures against their items. Returns false when another lease has begun.
    private func record(_ failures: inout [Failure], in chunk: ImportChunk) async throws -> Bool {
        for (item, reason, atMost) in failures {
            if try await store.miss(item, reason: reason, atMost: atMost, in: chunk) == nil { return false }
        }
        failures = []
        return true
    }

    /// Stores an answer. One that the database refuses is a failure of the item: it never stops the others.
    private func settle(
        _ item: ImportChunk.Item,
        with elements: ServerAPIElements,
        in chunk: ImportChunk,
        _ answered: inout Set<String>,
        _ reason: inout String?
    ) async throws -> ImportStore.Did? {
        do {
            let did = try await store.settle(item, with: elements, in: chunk)
            answered.formUnion(elements.contracts)
            return did
        } catch let error as PostgresError where error.isAboutData {
            reason = "answer_not_stored"
            log("an answer of Apple's cannot be stored", item, in: chunk, "\(error)")
            return try await store.miss(item, reason: reason, atMost: 5, in: chunk)
        }
    }

    /// One request. An empty budget is waited for here: a lease that ended each time would write the database each time.
    private func ask(_ item: ImportChunk.Item, in chunk: ImportChunk) async -> ServerAPIResult {
        var left = Self.budgetWait.longest
        while true {
            let result = await cancelWhenGracefulShutdown { await client.send(chunk.request(item), class: .import, through: exchange) }
            guard case .later(let delay) = result, delay.reason == "budget" else { return result }
            let pause = max(delay.notBefore ?? .zero, Self.budgetWait.shortest)
            guard pause <= left else { return result }
            left -= pause
            beat()
            await Task.rest(for: pause)
            if Task.isEnding { return .shuttingDown }
        }
    }

    private func lost(_ item: ImportChunk.Item, in chunk: ImportChunk) -> End {
        log("another worker asks the items", item, in: chunk)
        return .over
    }

    /// Lets another process go on at once. What keeps the lane of this one from asking may not concern it.
    @discardableResult
    private func end(_ chunk: ImportChunk, reason: String? = nil) async throws -> End {
        try await store.end(chunk, reason: reason, after: .zero, counts: false)
        return .over
    }

    private func log(_ message: Logger.Message, _ item: ImportChunk.Item, in chunk: ImportChunk, _ reason: String? = nil) {
        var metadata: Logger.Metadata = [
            LogKey.import: "\(chunk.importID)", LogKey.app: "\(chunk.lane.app.bundleID)",
            LogKey.environment: "\(chunk.lane.app.environment.rawValue)", LogKey.line: "\(item.line)",
        ]
        if let reason { metadata[LogKey.reason] = "\(reason)" }
        logger.debug(message, metadata: metadata)
    }
}

extension PostgresError {
    /// Whether the server refuses the data of a statement, and would do so again.
    fileprivate var isAboutData: Bool {
        sqlState.map { ["22", "23", "54"].contains($0.conditionClass) } ?? false
    }
}

/// What the result of a request about an item means. Pure: the walk acts on it.
private enum ImportStep: Sendable {
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

/// The keys of what this module logs.
private enum LogKey {
    static let `import` = "import.id"
    static let app = "import.app"
    static let environment = "import.environment"
    static let line = "import.line"
    static let reason = "import.reason"
}
