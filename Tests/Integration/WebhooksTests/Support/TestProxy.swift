import NIOCore
import NIOPosix
import Synchronization

/// An HTTP proxy on the loopback interface that answers every CONNECT with one status, or connects to a port of this machine.
final class TestProxy: Sendable {
    enum Manner: Sendable {
        case answer(String)
        /// Connects to that port, whatever the client has asked for.
        case connect(port: Int)
        case hangUp
        /// Takes the request, and says nothing.
        case silence
    }

    private let heads = Mutex<[String]>([])
    private let open = Mutex(0)
    private let listener = Mutex<(any Channel)?>(nil)

    static func start(_ manner: Manner) async throws -> TestProxy {
        let proxy = TestProxy()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = Handler(manner) { change in
                        proxy.open.withLock { $0 += change }
                    } _: { head in
                        proxy.heads.withLock { $0.append(head) }
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        proxy.listener.withLock { $0 = channel }
        return proxy
    }

    var port: Int { listener.withLock { $0?.localAddress?.port ?? 0 } }
    /// What clients have sent.
    var asked: [String] { heads.withLock(\.self) }

    /// Connections of clients.
    var connections: Int { open.withLock(\.self) }

    func stop() async throws { try await listener.withLock(\.self)?.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let manner: Manner
        private let count: @Sendable (Int) -> Void
        private let record: @Sendable (String) -> Void
        private var head = ""
        private var peer: (any Channel)?
        private var isRelaying = false

        init(_ manner: Manner, _ count: @escaping @Sendable (Int) -> Void, _ record: @escaping @Sendable (String) -> Void) {
            (self.manner, self.count, self.record) = (manner, count, record)
        }

        func channelActive(context: ChannelHandlerContext) { count(1) }
        func channelInactive(context: ChannelHandlerContext) { count(-1) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            if isRelaying { return peer?.writeAndFlush(buffer, promise: nil) ?? () }
            head += String(buffer: buffer)
            guard head.hasSuffix("\r\n\r\n") else { return }
            record(head)
            let channel = context.channel
            switch manner {
            case .hangUp: context.close(promise: nil)
            case .silence: break
            case .answer(let line):
                channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 \(line)\r\ncontent-length: 0\r\n\r\n"), promise: nil)
            case .connect(let port):
                isRelaying = true
                let loopBound = NIOLoopBound(self, eventLoop: context.eventLoop)
                ClientBootstrap(group: context.eventLoop)
                    .channelInitializer { $0.pipeline.addHandler(Relay(to: channel)) }
                    .connect(host: "127.0.0.1", port: port)
                    .whenComplete { result in
                        guard case .success(let peer) = result else { return channel.close(promise: nil) }
                        loopBound.value.peer = peer
                        channel.closeFuture.whenComplete { _ in peer.close(promise: nil) }
                        channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connected\r\n\r\n"), promise: nil)
                    }
            }
        }
    }

    private final class Relay: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let other: any Channel

        init(to other: any Channel) {
            self.other = other
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { other.writeAndFlush(unwrapInboundIn(data), promise: nil) }
        func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
    }
}
