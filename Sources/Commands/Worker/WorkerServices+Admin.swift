import HTTPServing
import InboxQueue
import Logging
import NIOPosix
import Postgres
import Schema

extension WorkerServices {
    /// The service of the worker's admin listener; none when it is off.
    ///
    /// - Parameter announce: called when the address is bound.
    func admin(
        _ collector: StatisticsCollector<InboxStatistics>,
        _ gate: SchemaGate,
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
        } onBound: { [logger] port in
            logger.notice("worker is listening", metadata: ["listen.admin": "\(listen.with(port: port))"])
            announce()
        }
        return [server]
    }
}
