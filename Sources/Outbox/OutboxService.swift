package import Logging
package import Metrics
package import Postgres
import ServiceLifecycle

/// Makes the calls that are in the outbox: a few at once, each leased, asked, and settled; no transaction is open while somebody is asked.
///
/// Run as many as you like; they share nothing but PostgreSQL. One that dies leaves leases that run out.
package struct OutboxService: Service {
    private let store: OutboxStore
    private let makers: [String: any CallMaker]
    private let configuration: Configuration
    private let logger: Logger
    private let metrics: OutboxMetrics
    private let exchange: Exchange?
    private let outage = OutageNotice()

    /// - Parameters:
    ///   - pool: lends a connection for each statement; none is held while somebody is asked.
    ///   - makers: one for each kind of call that this process makes.
    ///   - exchange: for tests; by default requests go out by HTTP.
    package init(
        pool: ConnectionPool,
        makers: [any CallMaker],
        configuration: Configuration = Configuration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        exchange: Exchange? = nil
    ) {
        store = OutboxStore(pool: pool)
        self.makers = Dictionary(makers.map { ($0.kind, $0) }) { first, _ in first }
        self.configuration = configuration
        self.logger = logger
        self.metrics = OutboxMetrics(kinds: Set(makers.map(\.kind)), factory: metrics)
        self.exchange = exchange
    }

    /// Runs until graceful shutdown, and gives back what it has leased and not yet heard of.
    ///
    /// - Throws: when a certificate that is to be trusted cannot be read.
    package func run() async throws {
        if let exchange { return await drain(exchange) }
        try await Exchange.withClient(configuration.exchange) { await drain($0) }
    }

    private func drain(_ exchange: Exchange) async {
        await withTaskGroup { group in
            for _ in 0..<configuration.concurrency {
                group.addTask { await loop(exchange) }
            }
        }
    }

    private func loop(_ exchange: Exchange) async {
        var rest = Backoff(base: configuration.minimumRest, cap: configuration.maximumRest)
        var wait = Backoff(base: configuration.minimumOutage, cap: configuration.maximumOutage)
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            do {
                let calls = try await store.lease(makers.keys.sorted(), atMost: 1, for: configuration.lease)
                for call in calls { try await make(call, exchange) }
                if outage.ended() { logger.notice("the outbox reaches its calls again") }
                wait.reset()
                if calls.isEmpty { await pause(&rest) } else { rest.reset() }
            } catch is CancellationError where Task.isCancelled {
                return
            } catch {
                // A lease that was not settled runs out.
                logger.log(
                    level: outage.began() ? .warning : .debug,
                    "the outbox cannot reach its calls",
                    metadata: [LogKey.error: "\(error)"]
                )
                await pause(&wait)
            }
        }
    }

    /// Makes one attempt and settles the call.
    private func make(_ call: LeasedCall, _ exchange: Exchange) async throws {
        guard let maker = makers[call.kind] else { return try await store.release(call) }
        let start = ContinuousClock.now
        guard let result = await result(of: maker.attempt(call), exchange, since: start) else { return try await store.release(call) }
        var generator = SystemRandomNumberGenerator()
        let verdict = configuration.rules.verdict(on: result, of: call, elapsed: .now - start, using: &generator)
        try await settle(call, verdict)
    }

    private func settle(_ call: LeasedCall, _ verdict: CallRules.Verdict) async throws {
        do {
            let isSettled = try await store.settle(call, verdict)
            metrics.count(isSettled ? OutboxMetrics.Result(verdict) : .late, kind: call.kind)
            report(call, verdict, isSettled: isSettled)
        } catch let error as PostgresError where error.code == .sql && !error.isRetryable && verdict.isAnswer {
            // Who was asked would be asked again for ever: the next answer would be taken no more than this one.
            logger.error("the inbox does not take an answer", metadata: metadata(call).merging([LogKey.error: "\(error)"]) { $1 })
            try await settle(call, .refuse(reason: "answer_not_taken"))
        }
    }

    /// What comes of an attempt; nil when the shutdown comes first.
    private func result(of attempt: any CallAttempt, _ exchange: Exchange, since start: ContinuousClock.Instant) async -> CallResult? {
        var attempt = attempt
        var outcome: ExchangeOutcome?
        while true {
            switch attempt.next(after: outcome) {
            case .finish(let result):
                return result
            case .send(let request):
                let left = configuration.attemptTimeout - (.now - start)
                guard left > .zero else { return .later(reason: ExchangeFailure.timedOut.rawValue, atMost: nil, notBefore: nil) }
                let sent = ContinuousClock.now
                let answer = await cancelWhenGracefulShutdown {
                    await exchange.send(request, timeout: min(left, configuration.requestTimeout))
                }
                if case .failure(.shuttingDown) = answer { return nil }
                metrics.exchanged(after: .now - sent)
                outcome = answer
            }
        }
    }

    private func report(_ call: LeasedCall, _ verdict: CallRules.Verdict, isSettled: Bool) {
        let metadata = metadata(call)
        guard isSettled else { return logger.notice("somebody else has the call, its answer is dropped", metadata: metadata) }
        switch verdict {
        case .answer: logger.debug("call answered", metadata: metadata)
        case .postpone(let reason, _): logger.info("call postponed", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
        case .refuse(let reason): logger.warning("call refused", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
        case .giveUp(let reason): logger.warning("call given up", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
        }
    }

    private func metadata(_ call: LeasedCall) -> Logger.Metadata {
        [LogKey.call: "\(call.callID)", LogKey.kind: "\(call.kind)"]
    }

    private func pause(_ backoff: inout Backoff) async {
        var generator = SystemRandomNumberGenerator()
        let delay = backoff.next(using: &generator)
        await cancelWhenGracefulShutdown {
            do {
                try await Task.sleep(for: delay)
            } catch {
                // Cut short by the shutdown, which the loop looks at next.
            }
        }
    }
}

extension CallRules.Verdict {
    fileprivate var isAnswer: Bool {
        if case .answer = self { true } else { false }
    }
}
