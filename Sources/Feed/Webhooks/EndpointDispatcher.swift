import Logging
import Metrics
import NIOCore
import NIOPosix
import Postgres
import ServiceSupport
import Synchronization

/// Serves one endpoint under one lease: does what ``EndpointDeliveries`` decides.
final class EndpointDispatcher: Sendable {
    let lease: EndpointLease
    private let state: Mutex<EndpointDeliveries>
    private let released = Atomic(false)
    private let wakeup = Wakeup()
    private let signer: DeliverySigner
    private let context: WebhookContext
    private let exchange: EndpointExchange
    private let metrics: WebhookMetrics
    private let proxyTrouble = EdgeTrigger()

    init(_ lease: EndpointLease, _ deliveries: EndpointDeliveries, context: WebhookContext, exchange: EndpointExchange) {
        var context = context
        // A statement may fail for one endpoint alone.
        context.database = DatabaseUse(by: "webhooks", logger: context.logger)
        self.lease = lease
        self.context = context
        self.exchange = exchange
        state = Mutex(deliveries)
        signer = DeliverySigner(endpointID: lease.endpointID)
        metrics = WebhookMetrics(endpoint: lease.name, factory: context.metrics)
    }

    /// Whether ``run()`` has ended.
    var isReleased: Bool { released.load(ordering: .acquiring) }

    /// How far the feed was read; nil when the endpoint is no longer served.
    var readThrough: Int64? { state.withLock(\.readThrough) }

    func polled(_ endpoint: WebhookStore.Polled, leaseEnd: ContinuousClock.Instant) {
        state.withLock { $0.polled(endpoint.settings, hasWork: endpoint.hasWork, leaseEnd: leaseEnd) }
        if endpoint.hasWork { wakeup.signal() }
    }

    /// Sends nothing more, and ends when nothing is in flight, at the latest then.
    func end(by instant: ContinuousClock.Instant) {
        state.withLock { $0.end(by: instant) }
        wakeup.signal()
    }

    /// Runs until the lease ends, and releases it.
    func run() async {
        let heartbeat = context.heartbeat()
        defer { heartbeat.finish() }
        await withDiscardingTaskGroup { attempts in
            while true {
                heartbeat.beat()
                if Task.isCancelled { state.withLock { $0.end(by: .now) } }
                switch state.withLock({ $0.next(at: .now) }) {
                case .send(let entry): attempts.addTask { await self.send(entry) }
                // Beside the attempts, which go on meanwhile.
                case .take(let request): attempts.addTask { await self.take(request) }
                case .settle(let settlement): attempts.addTask { await self.settle(settlement) }
                case .wait(let instant): await wakeup.wait(until: instant)
                case .end: return attempts.cancelAll()
                }
            }
        }
        await using { try await context.store.release(name: lease.name, epoch: lease.epoch) }
        released.store(true, ordering: .releasing)
    }

    private func take(_ request: TakeRequest) async {
        await using {
            let taken = try await context.store.take(request, name: lease.name, epoch: lease.epoch)
            for case .gaveUp in state.withLock({ $0.took(taken, for: request, at: .now) }) {
                metrics.count(.givenUp)
                context.givenUp.count([LogKey.endpoint: lease.name], level: .warning)
            }
        }
    }

    private func settle(_ settlement: DeliverySettlement) async {
        await using {
            let isOurs: Bool
            do {
                isOurs = try await context.store.settle(settlement, name: lease.name, epoch: lease.epoch)
            } catch let error as PostgresError where error.code == .sql && !error.isRetryable {
                // A text that cannot be stored must not keep the rest from being settled.
                context.logger.error("the answers of an endpoint cannot be stored", metadata: metadata([LogKey.error: "\(error)"]))
                isOurs = try await context.store.settle(settlement.withoutTexts, name: lease.name, epoch: lease.epoch)
            }
            state.withLock { $0.settled(settlement, isOurs: isOurs, at: .now) }
            if !isOurs { context.logger.notice("another process serves the endpoint", metadata: metadata([:])) }
        }
    }

    /// Runs a statement. After a failure, nothing is sent until one has succeeded.
    private func using(_ body: () async throws -> Void) async {
        defer { wakeup.signal() }
        do {
            try await body()
            context.database.succeeded()
        } catch is CancellationError where Task.isCancelled {
            state.withLock { $0.abandon() }
        } catch {
            context.database.failed(error)
            var generator = SystemRandomNumberGenerator()
            state.withLock { $0.databaseFailed(at: .now, using: &generator) }
        }
    }

    private func send(_ entry: FeedEntry) async {
        let start = ContinuousClock.now
        let outcome = await attempt(entry)
        let now = ContinuousClock.now
        var generator = SystemRandomNumberGenerator()
        let events = state.withLock { $0.finished(entry.position, outcome, after: now - start, at: now, using: &generator) }
        for event in events { report(event, of: entry, after: now - start) }
        wakeup.signal()
    }

    private func attempt(_ entry: FeedEntry) async -> DeliveryOutcome {
        let settings = state.withLock(\.settings)
        guard let masters = context.masters(), let body = entry.body else { return .cancelled }
        do {
            var headers = context.headers(lease.name)
            headers.insert((name: "user-agent", value: context.configuration.userAgent), at: 0)
            headers += try signer.headers(for: entry, body, settings, masters)
            let url = try EndpointURL(settings.url)
            let request = DeliveryRequest(url: url, headers: headers, body: body, timeout: settings.timeout)
            return await exchange.send(request)
        } catch {
            return .refused("\(error)")
        }
    }

    private func report(_ event: EndpointDeliveries.Event, of entry: FeedEntry, after duration: Duration) {
        let logger = context.logger
        switch event {
        case .attempted(let result):
            metrics.count(result, after: duration)
            let metadata = self.metadata([LogKey.position: "\(entry.position)", LogKey.result: "\(result.rawValue)"])
            logger.debug("webhook attempted", metadata: metadata)
            if proxyTrouble.ended() { logger.notice("the egress proxy connects to the endpoint again", metadata: self.metadata([:])) }
        case .gaveUp:
            context.givenUp.count([LogKey.endpoint: lease.name], level: .warning)
        case .breakerOpened(let why):
            logger.warning("endpoint fails: only probes are sent", metadata: metadata([LogKey.reason: "\(why)"]))
        case .breakerClosed:
            logger.notice("endpoint works again", metadata: metadata([:]))
        case .disabled(let why):
            logger.error("endpoint is disabled", metadata: metadata([LogKey.reason: "\(why)"]))
        case .proxyFailed(let why):
            guard proxyTrouble.began() else { return }
            logger.warning("the egress proxy does not connect to the endpoint", metadata: metadata([LogKey.reason: "\(why)"]))
        }
    }

    private func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
        more.merging([LogKey.endpoint: "\(lease.name)", LogKey.epoch: "\(lease.epoch)"]) { $1 }
    }
}

extension DeliverySettlement {
    fileprivate var withoutTexts: DeliverySettlement {
        var copy = self
        for index in copy.reports.indices { (copy.reports[index].answer, copy.reports[index].error) = (nil, nil) }
        return copy
    }
}

/// The metrics of one endpoint. Its name is a label: an operator chose it, and there are few.
private struct WebhookMetrics: Sendable {
    private let attempts: [DeliveryReport.Result: Counter]
    private let seconds: Timer

    init(endpoint: String, factory: any MetricsFactory) {
        let results = DeliveryReport.Result.allCases.filter { $0 != .held }
        attempts = Dictionary(
            uniqueKeysWithValues: results.map { result in
                let dimensions = [("endpoint", endpoint), ("result", result.rawValue)]
                return (result, Counter(label: "appstore_inbox_endpoint_attempts_total", dimensions: dimensions, factory: factory))
            }
        )
        seconds = Timer(label: "appstore_inbox_endpoint_seconds", dimensions: [("endpoint", endpoint)], factory: factory)
    }

    func count(_ result: DeliveryReport.Result) { attempts[result]?.increment() }

    func count(_ result: DeliveryReport.Result, after duration: Duration) {
        count(result)
        seconds.record(duration: duration)
    }
}

/// Wakes one waiting task. A signal without a waiter is kept for the next one.
private final class Wakeup: Sendable {
    private struct State {
        var isSignalled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func signal() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            state.isSignalled = state.waiter == nil
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits for a signal, at most until then.
    func wait(until instant: ContinuousClock.Instant) async {
        // A timer of an event loop leaves nothing behind when it is cancelled, and is precise.
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(instant - .now)) { self.signal() }
        await withCheckedContinuation { continuation in
            let isSignalled = state.withLock { state in
                defer { state.isSignalled = false }
                if !state.isSignalled { state.waiter = continuation }
                return state.isSignalled
            }
            if isSignalled { continuation.resume() }
        }
        timer.cancel()
    }
}
