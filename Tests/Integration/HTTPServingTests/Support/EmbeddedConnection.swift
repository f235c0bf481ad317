import Logging
import NIOCore
import NIOEmbedded

@testable import HTTPServing

/// A `ConnectionHandler` behind the real HTTP/1.1 codec in an `EmbeddedChannel`, with a manual clock.
final class EmbeddedConnection {
    let channel: EmbeddedChannel
    let admission: Admission
    let limits: ListenerLimits
    /// Answers POST of all paths of these tests on the event loop.
    let endpoint: ScriptedEndpoint
    let peer = Peer()

    init(
        limits: ListenerLimits = ListenerLimits(),
        admission: Admission = Admission(memoryLimit: 1 << 20, hourlyLimit: 1 << 30),
        metrics: ListenerMetrics = ListenerMetrics(listener: "test"),
        endpoint: ScriptedEndpoint = ScriptedEndpoint()
    ) throws {
        self.limits = limits
        self.admission = admission
        self.endpoint = endpoint
        channel = EmbeddedChannel()
        let handler = ConnectionHandler(
            routes: endpoint.routes,
            admission: admission,
            metrics: metrics,
            limits: limits,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: channel.eventLoop.now
        ) { endpoint.start($0) }
        try channel.pipeline.syncOperations.addHandler(peer)
        try channel.pipeline.syncOperations.addHTTPHandlers(handler, limits: limits)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80), promise: nil)
    }

    /// Whether the server has closed its side, or the whole connection.
    var isOutputClosed: Bool { peer.isOutputClosed || !channel.isActive }
    var isClosed: Bool { !channel.isActive }

    func send(_ text: String) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    /// Closes the client's side.
    func closeInput() {
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    /// The bodies of the requests that reached the endpoint since the last call.
    func requests() throws -> [String] { endpoint.newBodies() }

    /// Answers the oldest request.
    func answer(_ result: Result<Response, Problem> = .success(.empty)) throws {
        try endpoint.answer(result)
        channel.embeddedEventLoop.run()
    }

    /// The bytes sent to the client since the last call.
    func answers() throws -> String {
        channel.embeddedEventLoop.run()
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    func advance(by time: Duration) {
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(time))
    }
}

/// The other end of an embedded connection: a socket that may take no bytes, and that can be half closed.
final class Peer: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    private(set) var isOutputClosed = false
    private(set) var reads = 0
    private var isInputClosed = false
    private var isStalled = false
    private var untaken: [(NIOAny, EventLoopPromise<Void>?)] = []
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    /// Takes no bytes until ``resume()``.
    func stall() {
        isStalled = true
    }

    func resume() {
        isStalled = false
        let taken = untaken
        untaken = []
        for (data, promise) in taken { context?.write(data, promise: promise) }
        context?.flush()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if isStalled { untaken.append((data, promise)) } else { context.write(data, promise: promise) }
    }

    func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { isInputClosed = true }
        context.fireUserInboundEventTriggered(event)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        for (_, promise) in untaken { promise?.fail(ChannelError.ioOnClosedChannel) }
        untaken = []
        guard mode == .output, !isInputClosed else { return context.close(mode: .all, promise: promise) }
        isOutputClosed = true
        promise?.succeed()
    }
}
