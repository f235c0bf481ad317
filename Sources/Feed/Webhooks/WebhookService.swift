package import Logging
package import Metrics
package import Postgres
import ServiceLifecycle
package import ServiceSupport

/// Sends entries of the feed to the endpoints of operators, at least once, in the order of each subject.
///
/// Any number of processes may run it: each leases endpoints, and the leases of a process that dies expire. No transaction is open during an
/// attempt. A process that dies or loses the database repeats what was in flight, with the same ids.
package struct WebhookService: Service {
    private let configuration: Configuration
    private let context: WebhookContext

    /// - Parameters:
    ///   - pool: lends a connection for each statement; none is held during an attempt.
    ///   - masters: asked for each attempt; nothing is sent while it is nil.
    ///   - headers: the fields of the operator for an endpoint; asked for each attempt.
    ///   - heartbeat: begins the heartbeat of a loop, which beats at least once a second.
    package init(
        pool: ConnectionPool,
        configuration: Configuration,
        masters: @escaping @Sendable () -> WebhookMasters?,
        headers: @escaping @Sendable (_ endpoint: String) -> [(name: String, value: String)],
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none }
    ) {
        self.configuration = configuration
        context = WebhookContext(
            store: WebhookStore(pool: pool),
            configuration: configuration,
            masters: masters,
            headers: headers,
            logger: logger,
            metrics: metrics,
            heartbeat: heartbeat,
            database: DatabaseUse(by: "webhooks", logger: logger),
            givenUp: OccurrenceSummary("webhooks given up after their last attempt", logger: logger)
        )
    }

    /// Runs until graceful shutdown, then ends what is in flight and the leases.
    ///
    /// - Throws: when a file of `extraRootPaths` cannot be used.
    package func run() async throws {
        let exchange = try EndpointExchange(configuration)
        defer { exchange.close() }
        await WebhookDispatcher(context: context, exchange: exchange).run()
    }
}

/// What all loops of the service share.
struct WebhookContext: Sendable {
    let store: WebhookStore
    let configuration: WebhookService.Configuration
    let masters: @Sendable () -> WebhookMasters?
    let headers: @Sendable (_ endpoint: String) -> [(name: String, value: String)]
    let logger: Logger
    let metrics: any MetricsFactory
    let heartbeat: @Sendable () -> LoopHeartbeat
    var database: DatabaseUse
    let givenUp: OccurrenceSummary
}

extension WebhookService {
    /// How webhooks are delivered.
    package struct Configuration: Sendable {
        /// To which addresses webhooks are sent.
        package var networks: NetworkPolicy = .any
        /// The egress proxy; nil connects directly.
        package var proxy: ProxyAddress?
        /// PEM files with additional trusted certificates.
        package var extraRootPaths: [String] = []
        /// The ports of this program's listeners, to which nothing is sent on this machine.
        package var ownPorts: Set<Int> = []
        /// The value of `User-Agent`.
        package var userAgent = "appstore-inbox/1"
        /// To how many endpoints this process delivers at once.
        package var slots = 32
        /// The duration of a lease, renewed when half of it has passed.
        package var leaseSeconds = 30
        /// The pause between two searches for endpoints without a lease.
        package var leasePause: Duration = .milliseconds(500)
        /// The pause between two polls, each of which asks for all endpoints of this process.
        package var pollPause: Duration = .milliseconds(50)
        /// For how long attempts in flight may go on at a shutdown.
        package var grace: Duration = .seconds(3)
        var connectTimeout: Duration = .seconds(5)
        /// For how long the addresses of a name are used.
        var nameLifetime: Duration = .seconds(5)
        /// For how long a connection waits for another request.
        var idleLifetime: Duration = .seconds(4)
        var lookUp: NameResolver.LookUp = NameResolver.system

        package init() {}
    }
}

/// Leases endpoints, serves each in a task of its own, and polls for all of them with one statement.
private struct WebhookDispatcher: Sendable {
    let context: WebhookContext
    let exchange: EndpointExchange
    /// Whether it was reported that there is no master secret.
    private let missingMasters = EdgeTrigger()

    init(context: WebhookContext, exchange: EndpointExchange) {
        self.context = context
        self.exchange = exchange
    }

    /// Runs until graceful shutdown, then until all endpoints are released.
    func run() async {
        let configuration = context.configuration
        let heartbeat = context.heartbeat()
        defer { heartbeat.finish() }
        await withDiscardingTaskGroup { group in
            var served: [EndpointDispatcher] = []
            var nextLeaseAt = ContinuousClock.now
            await context.database.takeSteps(backingOff: EndpointDeliveries.Limits().outage) {
                heartbeat.beat()
                context.givenUp.flush()
                served.removeAll(where: \.isReleased)
                let canSign = self.canSign
                if !canSign { end(served) }
                if canSign, served.count < configuration.slots, .now >= nextLeaseAt {
                    for dispatcher in try await lease(configuration.slots - served.count) {
                        served.append(dispatcher)
                        group.addTask { await dispatcher.run() }
                    }
                    nextLeaseAt = .now + configuration.leasePause
                }
                try await poll(served)
                return configuration.pollPause
            }
            end(served)
        }
        context.givenUp.flush(all: true)
    }

    private func end(_ served: [EndpointDispatcher]) {
        for dispatcher in served { dispatcher.end(by: .now + context.configuration.grace) }
    }

    private var canSign: Bool {
        if context.masters() == nil {
            if missingMasters.began() { context.logger.notice("no webhooks are sent: there is no secret to sign them with") }
            return false
        }
        if missingMasters.ended() { context.logger.notice("webhooks are sent: there is a secret to sign them with") }
        return true
    }

    private func lease(_ slots: Int) async throws -> [EndpointDispatcher] {
        let configuration = context.configuration
        let start = ContinuousClock.now
        let leases = try await context.store.lease(atMost: slots, seconds: configuration.leaseSeconds)
        return leases.map { lease in
            let deliveries = EndpointDeliveries(lease, leaseEnd: start + .seconds(configuration.leaseSeconds), at: .now)
            return EndpointDispatcher(lease, deliveries, context: context, exchange: exchange)
        }
    }

    private func poll(_ served: [EndpointDispatcher]) async throws {
        let asked = served.compactMap { dispatcher in dispatcher.readThrough.map { (dispatcher, $0) } }
        guard !asked.isEmpty else { return }
        let seconds = context.configuration.leaseSeconds
        let start = ContinuousClock.now
        let polled = try await context.store.poll(asked.map { ($0.0.lease.name, $0.0.lease.epoch, $0.1) }, seconds: seconds)
        let ours = Dictionary(polled.map { ($0.name, $0) }) { first, _ in first }
        for (dispatcher, _) in asked {
            if let endpoint = ours[dispatcher.lease.name] {
                // At least half of the lease is left after each poll.
                dispatcher.polled(endpoint, leaseEnd: start + .milliseconds(seconds * 500))
            } else {
                context.logger.notice("endpoint is no longer served", metadata: [LogKey.endpoint: "\(dispatcher.lease.name)"])
                dispatcher.end(by: .now + context.configuration.grace)
            }
        }
    }
}

/// The keys of what this module logs.
enum LogKey {
    static let endpoint = "webhooks.endpoint"
    static let epoch = "webhooks.epoch"
    static let reason = "webhooks.reason"
    static let position = "webhooks.position"
    static let result = "webhooks.result"
    static let error = "error"
}
