import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A simulated OCSP responder on the loopback interface: an HTTP server that answers as a closure says.
package final class ResponderServer: Sendable {
    package struct Request: Sendable {
        package let path: String
        package let contentType: String?
        package let body: [UInt8]
    }

    package struct Answer: Sendable {
        package var status: Int
        package var body: [UInt8]

        package init(_ status: Int = 200, _ body: [UInt8] = []) {
            (self.status, self.body) = (status, body)
        }
    }

    /// Nil leaves a request without an answer.
    package typealias Respond = @Sendable (Request) -> Answer?

    private let respond = Mutex<Respond>({ _ in nil })
    private let requests = Mutex<[Request]>([])
    private let channels = Mutex<[any Channel]>([])

    package static func start() async throws -> ResponderServer {
        let server = ResponderServer()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                server.channels.withLock { $0.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
                    try channel.pipeline.syncOperations.addHandler(Handler(server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.channels.withLock { $0.insert(listener, at: 0) }
        return server
    }

    /// Stops listening, and closes all connections.
    package func stop() {
        for channel in channels.withLock({ $0 }) { channel.close(promise: nil) }
    }

    package var url: String { "http://127.0.0.1:\(channels.withLock { $0.first?.localAddress?.port } ?? 0)" }

    /// All requests so far.
    package var received: [Request] { requests.withLock { $0 } }

    /// How requests are answered from now on.
    package func answer(_ respond: @escaping Respond) {
        self.respond.withLock { $0 = respond }
    }

    private func receive(_ request: Request) -> Answer? {
        requests.withLock { $0.append(request) }
        return respond.withLock { $0 }(request)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let server: ResponderServer
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(_ server: ResponderServer) {
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let new): (head, body) = (new, [])
            case .body(let bytes): body += Array(buffer: bytes)
            case .end:
                guard let head else { return }
                let request = Request(path: head.uri, contentType: head.headers.first(name: "content-type"), body: body)
                guard let answer = server.receive(request) else { return }
                var headers: HTTPHeaders = ["content-length": "\(answer.body.count)"]
                if answer.status == 302 { headers.add(name: "location", value: "\(server.url)/elsewhere") }
                let response = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
                context.write(wrapOutboundOut(.head(response)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
