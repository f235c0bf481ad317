import Glibc
import NIOCore
import NIOPosix

/// A TCP client that sends exactly the given bytes, also malformed HTTP.
package final class RawClient {
    private let channel: any Channel
    private var input: AsyncThrowingStream<ByteBuffer, any Error>.Iterator
    private var unread = ""

    private init(channel: any Channel, input: AsyncThrowingStream<ByteBuffer, any Error>) {
        self.channel = channel
        self.input = input.makeAsyncIterator()
    }

    /// Connects over TCP to this machine.
    ///
    /// - Parameter first: sent on the event loop at once. With busy cores, a task could send it only after the deadline of the server.
    package static func connect(port: Int, sending first: String = "") async throws -> RawClient {
        try await connect(sending: first) { $0.connect(host: "127.0.0.1", port: port) }
    }

    /// Connects over TCP to this machine, and takes no bytes from the server when `readsAnswers` is false.
    package static func connect(port: Int, readsAnswers: Bool) async throws -> RawClient {
        try await connect(sending: "") {
            $0.channelOption(.autoRead, value: readsAnswers).channelOption(.socketOption(.so_rcvbuf), value: 4096)
                .connect(host: "127.0.0.1", port: port)
        }
    }

    /// Connects to a Unix socket.
    package static func connect(unixSocket path: String) async throws -> RawClient {
        try await connect(sending: "") { $0.connect(unixDomainSocketPath: path) }
    }

    private static func connect(
        sending first: String,
        _ connect: (ClientBootstrap) -> EventLoopFuture<any Channel>
    ) async throws -> RawClient {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Receiver(continuation, first: first)) }
        }
        return RawClient(channel: try await connect(bootstrap).get(), input: stream)
    }

    /// Sends text unchanged.
    package func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// Sends bytes unchanged.
    package func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// Waits for the next answer, including 100 (Continue).
    package func response(toHead isHead: Bool = false) async throws -> RawResponse {
        while true {
            if let (response, rest) = RawResponse.parse(unread, isHead: isHead) {
                unread = String(rest)
                return response
            }
            guard let bytes = try await input.next() else { throw ClosedEarly(unread: unread) }
            unread += String(buffer: bytes)
        }
    }

    /// Waits for text, and returns the input up to its end.
    package func text(until end: String) async throws -> String {
        while true {
            if let range = unread.firstRange(of: end) {
                defer { unread.removeSubrange(..<range.upperBound) }
                return String(unread[..<range.upperBound])
            }
            guard let bytes = try await input.next() else { throw ClosedEarly(unread: unread) }
            unread += String(buffer: bytes)
        }
    }

    /// Returns the remaining input after the server has closed the connection.
    package func untilClosed() async throws -> String {
        while let bytes = try await input.next() { unread += String(buffer: bytes) }
        return unread
    }

    /// Waits until the server has ended the connection. A server that closes while it has bytes unread resets the connection.
    package func untilEnded() async throws {
        do {
            _ = try await untilClosed()
        } catch let error as IOError where error.errnoCode == ECONNRESET {
            return
        }
    }

    /// Closes the connection.
    package func close() {
        channel.close(promise: nil)
    }

    struct ClosedEarly: Error {
        let unread: String
    }

    private final class Receiver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let continuation: AsyncThrowingStream<ByteBuffer, any Error>.Continuation
        private let first: String

        init(_ continuation: AsyncThrowingStream<ByteBuffer, any Error>.Continuation, first: String) {
            self.continuation = continuation
            self.first = first
        }

        func channelActive(context: ChannelHandlerContext) {
            if !first.isEmpty { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: first)), promise: nil) }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            continuation.yield(unwrapInboundIn(data))
        }

        func channelInactive(context: ChannelHandlerContext) {
            continuation.finish()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            continuation.finish(throwing: error)
            context.close(promise: nil)
        }
    }
}
