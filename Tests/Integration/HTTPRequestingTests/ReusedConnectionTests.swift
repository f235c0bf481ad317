import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import NIOSSL
import Testing

@testable import HTTPRequesting

/// Requests over a connection that has carried another one, which the server may close at any time.
@Suite(.timeLimit(.minutes(5)))
struct ReusedConnectionTests {
    private static let fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func request(to url: String, _ headers: [(name: String, value: String)] = []) throws -> HTTPRequest {
        HTTPRequest(.POST, try HTTPAddress(url), headers: headers, body: [1], maximumBytes: 1000)
    }

    @Test func `a request goes over one idle connection and a new one, however many are idle`() async throws {
        let together = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)
        let reply: @Sendable (Int) -> RawServer.Reply? = { number in
            guard number < 4 else { return RawServer.Reply("", closes: true) }
            if number == 3 { together.succeed() }
            var reply = RawServer.Reply(Self.fine)
            reply.after = together.futureResult
            return reply
        }
        try await RawServer.with(reply) { server in
            let client = try DirectClient(tls: nil)
            defer { client.close() }
            let request = try Self.request(to: server.url)
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { _ = try await client.send(request, timeout: .seconds(60)) } }
                try await group.waitForAll()
            }
            let error = await #expect(throws: ExchangeError.self) { try await client.send(request, timeout: .seconds(60)) }
            #expect(error?.kind == .connectionFailed)
            #expect(server.requests == 4 + 2)
            #expect(server.connections == 4 + 1)
        }
    }

    @Test func `a field that cannot be sent is an error of the request, on a new connection and on a used one`() async throws {
        try await RawServer.with({ _ in RawServer.Reply(Self.fine) }) { server in
            let client = try DirectClient(tls: nil)
            defer { client.close() }
            for _ in 0..<2 {
                let error = await #expect(throws: ExchangeError.self) {
                    try await client.send(Self.request(to: server.url, [("authorization", "a\r\nb")]), timeout: .seconds(60))
                }
                #expect(error?.kind == .invalidRequest)
                #expect(try await client.send(Self.request(to: server.url), timeout: .seconds(60)).status == 200)
            }
            #expect(server.requests == 2)
        }
    }

    /// How a connection ends.
    enum End: CaseIterable {
        case reset, withoutNotice, closed

        func happen(to channel: EmbeddedChannel) {
            switch self {
            case .reset: channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "read"))
            // TLS without its close_notify.
            case .withoutNotice: channel.pipeline.fireErrorCaught(NIOSSLError.uncleanShutdown)
            case .closed: channel.close(promise: nil)
            }
        }
    }

    /// Sends a request over the connection.
    private func send(_ channel: EmbeddedChannel) throws -> EventLoopFuture<ReceivedAnswer> {
        let answer = channel.eventLoop.makePromise(of: ReceivedAnswer.self)
        let pending = PendingExchange(request: try Self.request(to: "http://127.0.0.1/"), deadline: .distantFuture, answer: answer)
        channel.writeAndFlush(pending, promise: nil)
        return answer.futureResult
    }

    @Test(arguments: End.allCases, [0, 2])
    func `a request whose connection ends may be repeated if the connection was used and nothing of an answer came`(
        end: End,
        bytes: Int
    ) throws {
        for isUsed in [false, true] {
            let channel = EmbeddedChannel()
            try HTTPConnections.addHandlers(to: channel, for: .host("127.0.0.1", port: 80, usesTLS: false), tls: nil)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
            if isUsed {
                let first = try send(channel)
                try channel.writeInbound(ByteBuffer(string: Self.fine))
                #expect(try first.wait().status == 200)
            }
            let second = try send(channel)
            if bytes > 0 { try channel.writeInbound(ByteBuffer(string: String(Self.fine.prefix(bytes)))) }
            end.happen(to: channel)
            let error = #expect(throws: ExchangeError.self) { try second.wait() }
            #expect((error?.kind == .reusedConnectionClosed) == (isUsed && bytes == 0), "\(isUsed): \(error?.description ?? "")")
        }
    }
}
