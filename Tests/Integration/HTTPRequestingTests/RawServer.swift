import NIOCore
import NIOPosix
import Synchronization

/// A server on the loopback interface that answers with bytes, whether they are HTTP or not.
final class RawServer: Sendable {
    struct Reply: Sendable {
        var bytes: [UInt8]
        /// What follows without end, until the client closes the connection.
        var endless: [UInt8] = []
        /// Whether the server closes the connection after the bytes.
        var closes = false
        /// What the server waits for before it sends the bytes.
        var after: EventLoopFuture<Void>?

        init(_ text: String, endless: String = "", closes: Bool = false) {
            (bytes, self.endless, self.closes) = (Array(text.utf8), Array(endless.utf8), closes)
        }

        init(bytes: [UInt8], closes: Bool) {
            (self.bytes, self.closes) = (bytes, closes)
        }
    }

    private struct State {
        var requests = 0
        var connections = 0
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    private let state = Mutex(State())
    private let listener = Mutex<(any Channel)?>(nil)
    private let reply: @Sendable (Int) -> Reply?

    private init(_ reply: @escaping @Sendable (Int) -> Reply?) {
        self.reply = reply
    }

    /// - Parameters:
    ///   - readsBodies: false answers as soon as a head is there, and reads nothing after it.
    ///   - reply: what the request with this number gets, from 0 on; nil for silence.
    static func start(readsBodies: Bool = true, _ reply: @escaping @Sendable (_ request: Int) -> Reply?) async throws -> RawServer {
        let server = RawServer(reply)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: readsBodies)
            .childChannelInitializer { channel in
                server.track(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RawHandler(server, readsBodies: readsBodies))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.listener.withLock { $0 = channel }
        return server
    }

    /// Runs a test with a server.
    static func with(
        readsBodies: Bool = true,
        _ reply: @escaping @Sendable (_ request: Int) -> Reply?,
        _ test: (RawServer) async throws -> Void
    ) async throws {
        let server = try await start(readsBodies: readsBodies, reply)
        do { try await test(server) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    var port: Int { listener.withLock { $0?.localAddress?.port ?? 0 } }
    var url: String { "http://127.0.0.1:\(port)/apple/v2/notifications" }
    var requests: Int { state.withLock(\.requests) }
    var connections: Int { state.withLock(\.connections) }

    private func stop() async {
        let open = (listener.withLock(\.self).map { [$0] } ?? []) + state.withLock { Array($0.channels.values) }
        for channel in open { channel.close(promise: nil) }
        for channel in open { await withCheckedContinuation { done in channel.closeFuture.whenComplete { _ in done.resume() } } }
    }

    fileprivate func receive() -> Reply? {
        reply(
            state.withLock { state in
                state.requests += 1
                return state.requests - 1
            }
        )
    }

    private func track(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        state.withLock { ($0.channels[id], $0.connections) = (channel, $0.connections + 1) }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.channels[id] = nil } }
    }
}

private final class RawHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let server: RawServer
    private let readsBodies: Bool
    private var received: [UInt8] = []

    init(_ server: RawServer, readsBodies: Bool) {
        (self.server, self.readsBodies) = (server, readsBodies)
    }

    func channelActive(context: ChannelHandlerContext) {
        if !readsBodies { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        while let end = received.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
            if readsBodies {
                let head = String(decoding: received[..<end], as: UTF8.self).lowercased()
                let length = head.split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
                guard received.count >= end + length else { return }
                received.removeFirst(end + length)
            } else {
                received = []
            }
            answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        guard let reply = server.receive() else { return }
        let channel = context.channel
        guard let after = reply.after else { return Self.send(reply, channel) }
        after.whenSuccess { Self.send(reply, channel) }
    }

    private static func send(_ reply: RawServer.Reply, _ channel: any Channel) {
        let sent = channel.eventLoop.makePromise(of: Void.self)
        channel.writeAndFlush(ByteBuffer(bytes: reply.bytes), promise: sent)
        if reply.closes {
            sent.futureResult.whenComplete { _ in channel.close(promise: nil) }
        } else if !reply.endless.isEmpty {
            let part = Array(repeatElement(reply.endless, count: max(1, 65_536 / reply.endless.count)).joined())
            sent.futureResult.whenSuccess { flood(channel, ByteBuffer(bytes: part)) }
        }
    }

    private static func flood(_ channel: any Channel, _ part: ByteBuffer) {
        channel.writeAndFlush(part).whenSuccess { flood(channel, part) }
    }
}
