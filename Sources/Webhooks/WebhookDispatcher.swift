import Logging
import Postgres
import Reporting
import Systemd

/// Leases endpoints, serves each in a task of its own, and polls for all of them with one statement.
struct WebhookDispatcher: Sendable {
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
