import AppStore
import Logging
import Outbox
import Postgres
import ServerAPI
import ServiceLifecycle
import Systemd

/// Asks the items of one chunk, one after the other. Each answer is stored in a transaction of its own with the items that it settles, so that
/// a process that ends repeats one request at most.
struct ImportWalk: Sendable {
    /// How a lease ended.
    enum End: Sendable {
        case over
        /// None of the app's items can be asked for that long.
        case rests(Duration)
    }

    let store: ImportStore
    let client: ServerAPIClient
    let exchange: Exchange
    let backoff: Backoff
    let logger: Logger
    /// Called before each step.
    let beat: @Sendable () -> Void

    /// Failures in a row, of different items, that end a lease: Apple is the cause.
    private static let failuresInARow = 3
    /// How long a request waits for an empty budget, in all, and between two looks at it.
    private static let budgetWait = (longest: Duration.seconds(30), shortest: Duration.milliseconds(100))

    /// Asks until the chunk is settled, fails, or belongs to another process.
    ///
    /// - Throws: what the database refuses. The lease then expires.
    func run(_ chunk: ImportChunk) async throws -> End {
        var failures = 0
        var reason: String?
        // What the answers of this lease were about.
        var answered: Set<String> = []
        for leased in chunk.items where !answered.contains(leased.id) {
            var item = leased
            asking: while true {
                try Task.checkCancellation()
                guard !Task.isShuttingDownGracefully else { return try await end(chunk) }
                beat()
                let did: ImportStore.Did?
                switch ImportStep(await ask(item, in: chunk), about: item, in: chunk) {
                case .shutDown: return try await end(chunk)
                case .rest(let reason, let delay):
                    try await store.end(chunk, reason: reason, after: delay, counts: false)
                    return .rests(delay)
                case .dropRevision:
                    item.revision = nil
                    continue
                case .store(let elements):
                    failures = 0
                    did = try await store.settle(item, with: elements, in: chunk)
                    item.revision = elements.revision
                    answered.formUnion(elements.contracts)
                case .unknown:
                    failures = 0
                    did = try await store.miss(item, reason: nil, in: chunk)
                case .failed(let cause, let atMost):
                    failures += atMost == 1 ? 0 : 1
                    reason = atMost == 1 ? reason : cause
                    log("an item of an import cannot be asked", item, in: chunk, cause)
                    did = try await store.miss(item, reason: cause, atMost: atMost, in: chunk)
                }
                switch did {
                case .more: continue
                case .settled: break asking
                case .stop: return try await end(chunk)
                case nil:
                    log("another worker asks the items", item, in: chunk)
                    return .over
                }
            }
            if failures == Self.failuresInARow { break }
        }
        guard let reason else { return try await end(chunk) }
        var generator = SystemRandomNumberGenerator()
        let delay = backoff.delay(afterFailures: chunk.failures + 1, using: &generator)
        try await store.end(chunk, reason: reason, after: delay, counts: true)
        return .over
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
            if Task.isShuttingDownGracefully || Task.isCancelled { return .shuttingDown }
        }
    }

    /// Lets another process go on at once.
    private func end(_ chunk: ImportChunk) async throws -> End {
        try await store.end(chunk, reason: nil, after: .zero, counts: false)
        return .over
    }

    private func log(_ message: Logger.Message, _ item: ImportChunk.Item, in chunk: ImportChunk, _ reason: String? = nil) {
        var metadata: Logger.Metadata = [
            LogKey.import: "\(chunk.importID)", LogKey.app: "\(chunk.lane.bundleID)",
            LogKey.environment: "\(chunk.lane.environment.rawValue)", LogKey.line: "\(item.line)",
        ]
        if let reason { metadata[LogKey.reason] = "\(reason)" }
        logger.debug(message, metadata: metadata)
    }
}
