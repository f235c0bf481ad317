import Logging
import Postgres
import ServiceLifecycle

/// The calls of one kind, as many at once as the kind has slots. One statement leases for all slots that are free.
struct OutboxLane: Sendable {
    let maker: any CallMaker
    let store: OutboxStore
    let configuration: OutboxService.Configuration
    let logger: Logger
    let metrics: OutboxMetrics
    let heartbeat: @Sendable () -> OutboxService.Heartbeat
    /// Shared with the lanes of other kinds: it is the same database.
    let outage: OutageNotice

    /// Runs until graceful shutdown, then ends with the last call that is under way.
    func run(_ exchange: Exchange) async {
        let slots = Slots(maker.slots)
        await withDiscardingTaskGroup { group in
            var rest = Backoff(base: configuration.minimumRest, cap: configuration.maximumRest)
            var wait = Backoff(base: configuration.minimumOutage, cap: configuration.maximumOutage)
            while let view = await look(slots) {
                let heartbeat = heartbeat()
                defer { heartbeat.finish() }
                heartbeat.beat()
                if view.lastWasSettled == true { reached(&wait) }
                if view.lastWasSettled == false {
                    await pause(&wait)
                    continue
                }
                let bundleIDs = maker.bundleIDs.sorted()
                guard !bundleIDs.isEmpty else {
                    await pause(&rest)
                    continue
                }
                do {
                    let calls = try await store.lease(maker.kind, of: bundleIDs, atMost: view.free, for: configuration.lease)
                    for call in calls {
                        slots.take()
                        group.addTask { slots.leave(settled: await make(call, exchange)) }
                    }
                    if calls.isEmpty {
                        reached(&wait)
                        await pause(&rest)
                    } else {
                        rest.reset()
                    }
                } catch {
                    if missed(error) { await pause(&wait) }
                }
            }
        }
    }

    /// The slots as soon as one is free; nil when the service is to end.
    private func look(_ slots: Slots) async -> Slots.View? {
        let view = await slots.look()
        return Task.isShuttingDownGracefully || Task.isCancelled ? nil : view
    }

    /// Makes one attempt and settles the call, and says whether it could be settled; if not, the lease runs out.
    private func make(_ call: LeasedCall, _ exchange: Exchange) async -> Bool {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        heartbeat.beat()
        do {
            let start = ContinuousClock.now
            guard let result = await result(of: maker.attempt(call), exchange, since: start, heartbeat) else {
                try await store.release(call)
                return true
            }
            var generator = SystemRandomNumberGenerator()
            let verdict = configuration.rules.verdict(on: result, of: call, elapsed: .now - start, using: &generator)
            try await settle(call, verdict, heartbeat)
            return true
        } catch {
            return !missed(error)
        }
    }

    private func settle(_ call: LeasedCall, _ verdict: CallRules.Verdict, _ heartbeat: OutboxService.Heartbeat) async throws {
        do {
            let isSettled = try await store.settle(call, verdict)
            metrics.count(isSettled ? OutboxMetrics.Result(verdict) : .late, kind: call.kind)
            report(call, verdict, isSettled: isSettled)
        } catch let error as PostgresError where error.code == .sql && !error.isRetryable && verdict.isAnswer {
            // Who was asked would be asked again for ever: the next answer would be taken no more than this one.
            logger.error("the inbox does not take an answer", metadata: metadata(call).merging([LogKey.error: "\(error)"]) { $1 })
            heartbeat.beat()
            try await settle(call, .refuse(reason: "answer_not_taken"), heartbeat)
        }
    }

    /// What comes of an attempt; nil when the shutdown comes first.
    private func result(
        of attempt: any CallAttempt,
        _ exchange: Exchange,
        since start: ContinuousClock.Instant,
        _ heartbeat: OutboxService.Heartbeat
    ) async -> CallResult? {
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
                heartbeat.beat()
                if case .failure(.shuttingDown) = answer { return nil }
                metrics.exchanged(after: .now - sent)
                outcome = answer
            }
        }
    }

    private func reached(_ wait: inout Backoff) {
        if outage.ended() { logger.notice("the outbox reaches its calls again") }
        wait.reset()
    }

    /// Says so once, not at each attempt; false when nothing is wrong but that this ends.
    private func missed(_ error: any Error) -> Bool {
        if error is CancellationError, Task.isCancelled { return false }
        let level: Logger.Level = outage.began() ? .warning : .debug
        logger.log(level: level, "the outbox cannot reach its calls", metadata: [LogKey.error: "\(error)"])
        return true
    }

    private func report(_ call: LeasedCall, _ verdict: CallRules.Verdict, isSettled: Bool) {
        let metadata = metadata(call)
        guard isSettled else { return logger.notice("somebody else has the call, its answer is dropped", metadata: metadata) }
        switch verdict {
        case .answer: logger.debug("call answered", metadata: metadata)
        case .postpone(let reason, _): logger.info("call postponed", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
        case .refuse(let reason), .deny(let reason):
            logger.warning("call refused", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
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
