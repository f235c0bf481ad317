import NIOCore

/// The channel handler of a listening socket: it accepts connections up to a limit, and ends them when the socket is closed.
///
/// After `ChannelShouldQuiesceEvent`, each connection ends when its request is answered; otherwise all are closed at once.
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
        guard open.count < maximumConnections else { return isReadHeld = true }
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
        if event is ChannelShouldQuiesceEvent {
            isQuiescing = true
            for connection in open.values { connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        }
        // The channel closes itself at this event.
        context.fireUserInboundEventTriggered(event)
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
        guard isReadHeld else { return }
        isReadHeld = false
        context.read()
    }
}
