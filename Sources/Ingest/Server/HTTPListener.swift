import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// A Hummingbird application behind the guards of this module.
struct HTTPListener: Service {
    let address: ListenAddress
    let limits: ConnectionLimits
    let maximumConnections: Int
    let routes: Routes
    let admission: Admission
    let metrics: IngestMetrics
    let eventLoopGroup: any EventLoopGroup
    let logger: Logger
    /// Called with the port when the address is bound.
    let onBound: @Sendable (Int?) async -> Void

    func run() async throws {
        do {
            try await application.run()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw IngestError.cannotListen(address, error)
        }
        logger.info("listener closed", metadata: [LogKey.listenerAddress: "\(address)"])
    }

    private var application: some ApplicationProtocol {
        var quietLogger = logger
        quietLogger.logLevel = max(logger.logLevel, .warning)
        return Application(
            responder: routes,
            server: HTTPServerBuilder { [limits, admission, metrics, logger] responder in
                GuardedHTTP1Channel(responder: responder, limits: limits) {
                    ConnectionGuard(admission: admission, metrics: metrics, limits: limits, logger: logger)
                }
            },
            configuration: ApplicationConfiguration(
                address: address.bindAddress,
                availableConnectionsDelegate: MaximumAvailableConnections(maximumConnections, logger: quietLogger)
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
