import NIOCore

/// The channel handler of a listening socket: it accepts connections up to a limit, and ends them when the socket is closed.
///
/// After `ChannelShouldQuiesceEvent`, each connection ends when its request is answered; otherwise all are closed at once. The socket is closed once
/// the accepted connections are registered: NIO would reset the others, and they would not receive the event.
final class ConnectionAcceptor: ChannelInboundHandler, ChannelOutboundHandler {
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
