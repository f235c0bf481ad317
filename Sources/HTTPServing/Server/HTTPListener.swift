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

/// The limits of one listener.
package struct ListenerLimits: Sendable {
    /// The most bytes in a body, except under the paths in `bodyBytesByPath`.
    package var maximumBodyBytes = 256 * 1024
    /// The most bytes in a body, by path.
    package var bodyBytesByPath: [String: Int] = [:]
    /// The most bytes in a request line and header fields together.
    package var maximumHeadBytes = 16 * 1024
    /// The most header fields.
    package var maximumHeadFields = 64
    /// The most bytes of bodies in memory at once. Half of it is divided among the connections; see ``AdmissionState``.
    package var maximumBytesInMemory = 64 * 1024 * 1024
    /// The most connections. Further clients wait until one closes.
    package var maximumConnections = 512
    /// The timeout from the first byte of a request to its last, and from the start of a connection to the first byte.
    package var requestDeadline: Duration = .seconds(10)
    /// The idle timeout between two requests of a connection.
    package var idleTimeout: Duration = .seconds(60)
    /// The timeout from the last byte of a request until the client has taken the answer.
    package var answerTimeout: Duration = .seconds(30)
    /// How long an endpoint may wait for something to answer, before `answerTimeout` counts.
    package var longestWait: Duration = .zero
    /// How long input is discarded after the last answer, so that the client can read that answer.
    package var lingerTimeout: Duration = .seconds(2)
    /// How long a connection without a request stays open after shutdown begins: a request may be on its way.
    package var shutdownIdleTimeout: Duration = .seconds(1)
    /// The time that requests still have after shutdown begins.
    package var shutdownGrace: Duration = .seconds(10)

    package init() {}

    /// The valid range of a body limit. The inbox stores no larger bodies.
    package static let bodyBytes = 1024...4 * 1024 * 1024

    /// Checks the limits and their combination.
    ///
    /// - Throws: `ServerError` that names the first invalid limit.
    package func validate() throws(ServerError) {
        try Self.check("maximumBodyBytes", maximumBodyBytes, in: Self.bodyBytes)
        for (path, limit) in bodyBytesByPath.sorted(by: { $0.key < $1.key }) { try Self.check(path, limit, in: Self.bodyBytes) }
        try Self.check("maximumHeadBytes", maximumHeadBytes, in: 1024...1024 * 1024)
        try Self.check("maximumBytesInMemory", maximumBytesInMemory, in: largestBodyBytes...Int.max)
        try Self.check("maximumConnections", maximumConnections, in: 1...65536)
        try Self.check("requestDeadline", requestDeadline)
        try Self.check("idleTimeout", idleTimeout)
        try Self.check("answerTimeout", answerTimeout)
        try Self.check("shutdownGrace", shutdownGrace)
    }

    /// Checks the range of a limit.
    package static func check(_ name: String, _ value: Int, in range: ClosedRange<Int>) throws(ServerError) {
        guard !range.contains(value) else { return }
        let allowed = range.upperBound == .max ? "at least \(range.lowerBound)" : "between \(range.lowerBound) and \(range.upperBound)"
        throw .invalidLimit(name, "\(value) is not \(allowed)")
    }

    /// Checks the range of a timeout.
    package static func check(_ name: String, _ duration: Duration) throws(ServerError) {
        guard duration < .milliseconds(10) || duration > .seconds(3600) else { return }
        throw .invalidLimit(name, "\(duration) is not between 0.01 seconds and an hour")
    }

    /// The largest body limit of all paths.
    package var largestBodyBytes: Int { bodyBytesByPath.values.reduce(maximumBodyBytes, max) }

    /// The most bytes in the body of a request for a path.
    func maximumBodyBytes(for path: String) -> Int { bodyBytesByPath[path] ?? maximumBodyBytes }
}

/// The channel handler of a listening socket: it accepts connections up to a limit, and ends them when the socket is closed.
///
/// After `ChannelShouldQuiesceEvent`, each connection ends when its request is answered; otherwise all are closed at once. The socket is closed once
/// the accepted connections are registered: NIO would reset the others, and they would not receive the event.
private final class ConnectionAcceptor: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = Never

    private let maximumConnections: Int
    private let onAllClosed: () -> Void
    private var open: [ObjectIdentifier: any Channel] = [:]
    private var isListening = true
    private var isQuiescing = false
    private var isReadHeld = false

    /// - Parameter onAllClosed: called once, when the socket and all connections are closed.
    init(maximumConnections: Int, onAllClosed: @escaping () -> Void) {
        self.maximumConnections = maximumConnections
        self.onAllClosed = onAllClosed
    }

    /// Further clients wait in the backlog of the operating system.
    func read(context: ChannelHandlerContext) {
        guard open.count < maximumConnections, !isQuiescing else { return isReadHeld = true }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let connection = unwrapInboundIn(data)
        open[ObjectIdentifier(connection)] = connection
        connection.closeFuture.hop(to: context.eventLoop).assumeIsolated().whenComplete { _ in
            self.closed(connection, context: context)
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        isQuiescing = true
        quiesce(context: context, within: 200)
    }

    /// Closes the socket when all accepted connections are registered, or after some milliseconds.
    private func quiesce(context: ChannelHandlerContext, within milliseconds: Int64) {
        guard isListening else { return }
        guard milliseconds <= 0 || open.values.allSatisfy(\.isActive) else {
            let pause: Int64 = 2
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(pause)) {
                self.quiesce(context: context, within: milliseconds - pause)
            }
            return
        }
        for connection in open.values { connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        // The channel closes itself at this event.
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    func channelInactive(context: ChannelHandlerContext) {
        isListening = false
        if !isQuiescing { for connection in open.values { connection.close(promise: nil) } }
        if open.isEmpty { onAllClosed() }
        context.fireChannelInactive()
    }

    private func closed(_ connection: any Channel, context: ChannelHandlerContext) {
        open[ObjectIdentifier(connection)] = nil
        guard isListening else {
            if open.isEmpty { onAllClosed() }
            return
        }
        guard isReadHeld, !isQuiescing else { return }
        isReadHeld = false
        context.read()
    }
}

/// Waits until several listeners are bound.
package final class Readiness<Listener: Hashable & Sendable>: Sendable {
    /// The ports that were bound; nil for a Unix socket.
    package typealias Ports = [Listener: Int?]

    private struct State {
        var ports: Ports = [:]
        var missing: Set<Listener>
    }

    private let state: Mutex<State>
    private let onReady: @Sendable (Ports) async -> Void

    /// - Parameter onReady: called once, when all `listeners` are bound.
    package init(_ listeners: Set<Listener>, onReady: @escaping @Sendable (Ports) async -> Void) {
        state = Mutex(State(missing: listeners))
        self.onReady = onReady
    }

    /// Records that a listener is bound.
    package func bound(_ listener: Listener, to port: Int?) async {
        let complete = state.withLock { state -> Ports? in
            state.ports.updateValue(port, forKey: listener)
            guard state.missing.remove(listener) != nil, state.missing.isEmpty else { return nil }
            return state.ports
        }
        if let complete { await onReady(complete) }
    }
}
