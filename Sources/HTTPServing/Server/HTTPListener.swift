import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
import ServiceLifecycle

/// A Hummingbird application with the request limits of this module.
package struct HTTPListener: Service {
    private let address: ListenAddress
    private let limits: ListenerLimits
    private let routes: Routes
    private let admission: Admission
    private let metrics: ListenerMetrics
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let onBound: @Sendable (Int?) async -> Void

    /// Creates a listener that is bound while `run()` runs.
    ///
    /// - Parameters:
    ///   - admission: admits the requests; its owner closes it at shutdown.
    ///   - onBound: called with the port, nil for a Unix socket, when the address is bound.
    package init(
        address: ListenAddress,
        limits: ListenerLimits,
        routes: Routes,
        admission: Admission,
        metrics: ListenerMetrics,
        eventLoopGroup: any EventLoopGroup,
        logger: Logger,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) {
        self.address = address
        self.limits = limits
        self.routes = routes
        self.admission = admission
        self.metrics = metrics
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.onBound = onBound
    }

    /// Serves until graceful shutdown.
    ///
    /// - Throws: `ServerError` when the address cannot be bound.
    package func run() async throws {
        do {
            try await application.run()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ServerError.cannotListen(address, error)
        }
        logger.info("listener closed", metadata: [LogKey.listenerAddress: "\(address)"])
    }

    private var application: some ApplicationProtocol {
        var quietLogger = logger
        quietLogger.logLevel = max(logger.logLevel, .warning)
        return Application(
            responder: routes,
            server: HTTPServerBuilder { [limits = limits.connectionLimits, admission, metrics, routes, logger] responder in
                LimitedHTTP1Channel(responder: responder, limits: limits) {
                    RequestLimitsHandler(
                        admission: admission,
                        metrics: metrics,
                        limits: limits,
                        eventLoopEndpoints: routes.eventLoopEndpoints,
                        logger: logger
                    )
                }
            },
            configuration: ApplicationConfiguration(
                address: address.bindAddress,
                availableConnectionsDelegate: MaximumAvailableConnections(limits.maximumConnections, logger: quietLogger)
            ),
            onServerRunning: { [address, logger, onBound] channel in
                let port = channel.localAddress?.port
                logger.info("listening", metadata: [LogKey.listenerAddress: "\(address)", LogKey.listenerPort: "\(port ?? 0)"])
                await onBound(port)
            },
            eventLoopGroupProvider: .shared(eventLoopGroup),
            logger: quietLogger
        )
    }
}
