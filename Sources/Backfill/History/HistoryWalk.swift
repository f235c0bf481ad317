import AppStore
import Logging
import Outbox
import Postgres
import ServerAPI
import ServiceLifecycle
import ServiceSupport
import StrictJSON

/// Reads one window, page by page. Each page is stored in a transaction of its own, so that a process that ends repeats one page at most.
struct HistoryWalk: Sendable {
    /// How a lease ended.
    enum End: Sendable {
        case over
        /// Budget, rate limit or key: none of the app's windows can be read for that long.
        case rests(Duration)
    }

    let store: HistoryStore
    let client: ServerAPIClient
    let exchange: Exchange
    let backoff: Backoff
    let metrics: HistoryMetrics
    let logger: Logger
    /// Called before each step.
    let beat: @Sendable () -> Void

    /// Reads pages until the window is done, fails, or belongs to another process.
    ///
    /// - Throws: what the database refuses. The lease then expires.
    func run(_ leased: HistoryWindow) async throws -> End {
        var window = leased
        // Tokens of this lease: a chain that comes back to one of them would never end.
        var tokens: Set<String> = []
        while true {
            try Task.checkCancellation()
            if window.isRead { return try await compare(window) }
            if let token = window.token { tokens.insert(token) }
            guard !Task.isShuttingDownGracefully else { return try await release(window) }
            beat()
            let request = window.request
            let result = await cancelWhenGracefulShutdown { await client.send(request, class: .history, through: exchange) }
            beat()
            switch result {
            case .shuttingDown: return try await release(window)
            case .later(let delay): return try await wait(window, delay)
            case .refused(let refusal):
                guard try await isCorrected(&window, after: refusal) else { return .over }
                tokens = []
            case .answered(let answer):
                let page: HistoryPage
                do throws(HistoryFault) {
                    page = try HistoryPage(answer.body, of: window.lane, after: tokens)
                } catch {
                    return try await fail(window, error.rawValue)
                }
                if let end = try await keep(page, of: window) { return end }
                window.failures = 0
                window.token = page.token
                if page.token == nil {
                    guard window.isSecond else { return .over }
                    window.isRead = true
                }
            }
        }
    }

    /// Stores a page. Where that fails, it returns how the lease ended.
    private func keep(_ page: HistoryPage, of window: HistoryWindow) async throws -> End? {
        do {
            guard let stored = try await store.store(page, of: window) else { return isLost(window) }
            if stored > 0 {
                logger.debug("the history had notifications that were not pushed", metadata: metadata(window, stored: stored))
            }
            return nil
        } catch let error as PostgresError where !error.isRetryable && [.sql, .invalidBind].contains(error.code) {
            logger.error(
                "the inbox does not accept a page of the history",
                metadata: metadata(window).merging([LogKey.error: "\(error)"]) { $1 }
            )
            return try await fail(window, "page_not_taken")
        }
    }

    private func compare(_ window: HistoryWindow) async throws -> End {
        repeat {
            try Task.checkCancellation()
            guard !Task.isShuttingDownGracefully else { return try await release(window) }
            beat()
            guard let isDone = try await store.compare(window) else { return isLost(window) }
            if isDone { return .over }
        } while true
    }

    /// Changes the window as Apple's refusal demands; false when it ends the lease.
    private func isCorrected(_ window: inout HistoryWindow, after refusal: ServerAPIRefusal) async throws -> Bool {
        let reason = refusal.code.name == nil ? "apple_other" : refusal.reason
        guard refusal.code.advice == .startLater else {
            // It begins again after the back-off: where each token is refused, it would read the same pages without a pause.
            if refusal.code.advice == .restartFromFirstPage, window.token != nil { try await store.restart(window) }
            _ = try await fail(window, reason)
            return false
        }
        metrics.failed(reason)
        guard let start = try await store.advance(window), start < window.end else { return false }
        window.start = start
        window.token = nil
        return true
    }

    private func wait(_ window: HistoryWindow, _ delay: ServerAPIDelay) async throws -> End {
        guard !delay.countsAttempt else { return try await fail(window, delay.reason, notBefore: delay.notBefore) }
        metrics.failed(delay.reason)
        let rest = delay.notBefore ?? .seconds(5)
        try await store.postpone(window, reason: delay.reason, for: rest, counts: false)
        return .rests(rest)
    }

    private func fail(_ window: HistoryWindow, _ reason: String, notBefore: Duration? = nil) async throws -> End {
        metrics.failed(reason)
        var generator = SystemRandomNumberGenerator()
        let delay = max(notBefore ?? .zero, backoff.delay(afterFailures: window.failures + 1, using: &generator))
        logger.log(
            level: window.failures == 0 ? .notice : .debug,
            "a window of the history cannot be read",
            metadata: metadata(window, reason: reason)
        )
        try await store.postpone(window, reason: reason, for: delay, counts: true)
        return .over
    }

    /// Lets another process go on at once.
    private func release(_ window: HistoryWindow) async throws -> End {
        try await store.postpone(window, reason: nil, for: .zero, counts: false)
        return .over
    }

    private func isLost(_ window: HistoryWindow) -> End {
        logger.notice("the window is no longer this worker's", metadata: metadata(window))
        return .over
    }

    private func metadata(_ window: HistoryWindow, reason: String? = nil, stored: Int? = nil) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            LogKey.app: "\(window.lane.bundleID)", LogKey.environment: "\(window.lane.environment.rawValue)", LogKey.window: "\(window.id)",
            LogKey.from: "\(window.start)", LogKey.to: "\(window.end)",
        ]
        if let reason { metadata[LogKey.reason] = "\(reason)" }
        if let stored { metadata[LogKey.stored] = "\(stored)" }
        return metadata
    }
}

/// A window of Apple's notification history, leased by this process. Its request does not change while its pages are read.
struct HistoryWindow: Sendable {
    let id: Int64
    /// Names the lease.
    let epoch: Int64
    let lane: CallLane
    let isNear: Bool
    var start: Timestamp
    /// Not part of it.
    let end: Timestamp
    /// Of the next page; nil for the first one.
    var token: String?
    /// Whether all pages of a second walk were read, so that it only has to be compared.
    var isRead: Bool
    let isSecond: Bool
    var failures: Int

    var request: ServerAPIRequest {
        ServerAPIRequest(
            .notificationHistory,
            of: lane.bundleID,
            in: lane.environment,
            query: token.map { [.init("paginationToken", $0)] } ?? [],
            body: ["startDate": .integer(start.millisecondsSince1970), "endDate": .integer(end.millisecondsSince1970)]
        )
    }
}

/// The keys of what this module logs.
private enum LogKey {
    static let app = "history.app"
    static let environment = "history.environment"
    static let window = "history.window"
    static let from = "history.from"
    static let to = "history.to"
    static let reason = "history.reason"
    static let stored = "history.stored"
    static let error = "error"
}
