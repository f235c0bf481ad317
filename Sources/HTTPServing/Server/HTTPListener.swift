package import Logging
package import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// An HTTP/1.1 listener with the request limits of this module.
package final class HTTPListener: Service {
    private let address: ListenAddress
    private let limits: ListenerLimits
    private let routes: Routes
    private let admission: Admission
    private let metrics: ListenerMetrics
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let onBound: @Sendable (Int?) async -> Void
    private let socket = Mutex<(any Channel)?>(nil)
    /// The endpoints to run in tasks; finished when the socket and all connections are closed.
    private let (endpoints, tasks) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)

    /// Swift 6.3.1 can crash when two threads make the metadata of the codec's generic classes at the same time, as two event loops do at their
    /// first connections. So one thread makes it, once, before there are event loops that need it.
    private static let codec: Void = { _ = ByteToMessageHandler(HTTPRequestDecoder()) }()

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
        Self.codec
        self.address = address
        self.limits = limits
        self.routes = routes
        self.admission = admission
        self.metrics = metrics
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.onBound = onBound
    }

    /// Serves until graceful shutdown, then until the last request is answered or the grace period ends.
    ///
    /// - Throws: `ServerError` when the address cannot be bound, or when the listening socket fails.
    package func run() async throws {
        let socket = try await bind()
        await onBound(socket.localAddress?.port)
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withDiscardingTaskGroup { group in
                    for await endpoint in endpoints { group.addTask(operation: endpoint) }
                }
            } onGracefulShutdown: {
                socket.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            }
        } onCancel: {
            socket.close(promise: nil)
        }
        guard Task.isCancelled || Task.isShuttingDownGracefully else { throw ServerError.stopped(address) }
    }

    /// Binds the address, unless it is bound. Call it before `run()` where nothing else should start when the address is wrong.
    @discardableResult package func bind() async throws(ServerError) -> any Channel {
        if let socket = socket.withLock(\.self) { return socket }
        let bootstrap = ServerBootstrap(group: eventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // One at a time, so that no more are accepted than the limit allows.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelInitializer { [limits, tasks] channel in
                channel.eventLoop.makeCompletedFuture {
                    let acceptor = ConnectionAcceptor(maximumConnections: limits.maximumConnections) { tasks.finish() }
                    try channel.pipeline.syncOperations.addHandler(acceptor)
                }
            }
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // One at a time, so that little is buffered of what follows a request.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { [routes, admission, metrics, logger, limits, tasks] channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = ConnectionHandler(
                        routes: routes,
                        admission: admission,
                        metrics: metrics,
                        limits: limits,
                        logger: logger,
                        now: channel.eventLoop.now
                    ) { tasks.yield($0) }
                    try channel.pipeline.syncOperations.addHTTPHandlers(handler, limits: limits)
                }
            }
        do {
            let bound = try await address.bind(bootstrap)
            socket.withLock { $0 = bound }
            return bound
        } catch {
            throw .cannotListen(address, error)
        }
    }
}
