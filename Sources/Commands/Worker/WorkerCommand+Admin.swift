import HTTPServing
import InboxQueue
import Logging
import NIOPosix
import Postgres
import Prometheus
import Schema

extension WorkerCommand {
    /// The service of the worker's admin listener; none when it is off.
    ///
    /// - Parameter announce: called when the address is bound.
    static func admin(
        _ settings: WorkerSettings,
        registry: MetricRegistry,
        collector: StatisticsCollector<InboxStatistics>,
        gate: SchemaGate,
        logger: Logger,
        announce: @escaping @Sendable () -> Void
    ) -> [AdminServer] {
        MetricCatalogue.expose(collector, in: registry)
        guard let listen = settings.adminListen else { return [] }
        let server = AdminServer(
            listen: listen,
            registry: registry,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        ) { () throws(Problem) in
            if let refusal = gate.refusal { throw .databaseRefused("\(refusal)") }
            guard gate.isUsable, collector.latest != nil else { throw .databaseUnavailable(retryAfter: 5) }
        } onBound: { port in
            logger.notice("worker is listening", metadata: ["listen.admin": "\(listen.with(port: port))"])
            announce()
        }
        return [server]
    }
}
