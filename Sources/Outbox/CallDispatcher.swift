import Logging
import Postgres
import ServiceLifecycle
import Systemd

/// Makes the calls of one handler, as many at once as it has slots. One statement leases calls for all free slots.
struct CallDispatcher: Sendable {
    let handler: any CallHandler
    let store: OutboxStore
    let configuration: OutboxService.Configuration
    let logger: Logger
    let metrics: OutboxMetrics
    let heartbeat: @Sendable () -> LoopHeartbeat
    /// Shared by all kinds, which use the same database.
    let database: DatabaseUse

    /// Runs until graceful shutdown, then ends with the last call in flight.
    func run(_ exchange: Exchange) async {
        let slots = CallSlots(handler.slots)
        await withDiscardingTaskGroup { group in
            var rest = configuration.rest
            var wait = configuration.outage
            while let view = await waitForFreeSlot(slots) {
                let heartbeat = heartbeat()
                defer { heartbeat.finish() }
                heartbeat.beat()
                if view.lastWasSettled == true { databaseWorks(&wait) }
                if view.lastWasSettled == false {
                    await pause(&wait)
                    continue
                }
                let lanes = handler.lanes.sorted()
                guard !lanes.isEmpty else {
                    await pause(&rest)
                    continue
                }
                do {
                    let calls = try await store.lease(handler.kinds, in: lanes, atMost: view.free, for: configuration.lease)
                    for call in calls {
                        slots.acquire()
                        group.addTask { slots.release(settled: await make(call, exchange)) }
                    }
                    if calls.isEmpty {
                        databaseWorks(&wait)
                        await pause(&rest)
                    } else {
                        rest.reset()
                    }
                } catch {
                    if database.failed(error) { await pause(&wait) }
                }
            }
        }
    }

    /// Nil when the service shuts down.
    private func waitForFreeSlot(_ slots: CallSlots) async -> CallSlots.View? {
        let view = await slots.waitForFreeSlot()
        return Task.isEnding ? nil : view
    }

    /// Makes one attempt and settles the call; false when the call could not be settled. Its lease then expires.
    private func make(_ call: LeasedCall, _ exchange: Exchange) async -> Bool {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        heartbeat.beat()
        do {
            let start = ContinuousClock.now
            guard let result = await handler.result(of: call, through: limited(exchange, since: start, heartbeat)) else {
                try await store.release(call)
                return true
            }
            var generator = SystemRandomNumberGenerator()
            let verdict = configuration.rules.verdict(on: result, of: call, elapsed: .now - start, using: &generator)
            try await settle(call, verdict, heartbeat)
            return true
        } catch {
            return !database.failed(error)
        }
    }

    private func settle(_ call: LeasedCall, _ verdict: CallRules.Verdict, _ heartbeat: LoopHeartbeat) async throws {
        do {
            let isSettled = try await store.settle(call, verdict)
            metrics.count(isSettled ? OutboxMetrics.Result(verdict) : .late, kind: call.kind)
            report(call, verdict, isSettled: isSettled)
        } catch let error as PostgresError where error.code == .sql && !error.isRetryable && verdict.isAnswer {
            // A retry would not help: the inbox would refuse the next answer, too.
            logger.error("the inbox does not accept an answer", metadata: metadata(call).merging([LogKey.error: "\(error)"]) { $1 })
            heartbeat.beat()
            try await settle(call, .refuse(reason: "answer_not_taken"), heartbeat)
        }
    }

    /// The exchange of one attempt: within its time, and until the shutdown.
    private func limited(_ exchange: Exchange, since start: ContinuousClock.Instant, _ heartbeat: LoopHeartbeat) -> Exchange {
        Exchange { [configuration, metrics] request, timeout in
            let left = configuration.attemptTimeout - (.now - start)
            guard left > .zero else { return .failure(.timedOut) }
            let sent = ContinuousClock.now
            let answer = await cancelWhenGracefulShutdown {
                await exchange.send(request, timeout: min(left, timeout, configuration.requestTimeout))
            }
            heartbeat.beat()
            if case .failure(.shuttingDown) = answer { return answer }
            metrics.exchanged(after: .now - sent)
            return answer
        }
    }

    private func databaseWorks(_ wait: inout Backoff) {
        database.succeeded()
        wait.reset()
    }

    private func report(_ call: LeasedCall, _ verdict: CallRules.Verdict, isSettled: Bool) {
        let metadata = metadata(call)
        guard isSettled else { return logger.notice("another worker has the call, its answer is dropped", metadata: metadata) }
        switch verdict {
        case .answer, .page(_, _, nil): logger.debug("call answered", metadata: metadata)
        case .page: logger.debug("page of a call stored", metadata: metadata)
        case .postpone(let reason, _, let countsAttempt):
            let level: Logger.Level = countsAttempt ? .info : .debug
            logger.log(level: level, "call postponed", metadata: metadata.merging([LogKey.reason: "\(reason)"]) { $1 })
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
        await Task.rest(for: backoff.next(using: &generator))
    }
}

extension CallRules.Verdict {
    fileprivate var isAnswer: Bool {
        switch self {
        case .answer, .page: true
        case .refuse, .deny, .giveUp, .postpone: false
        }
    }
}
