import HTTPServingTesting
import NIOHTTP1
import NIOPosix
import PostgresTesting
import ServiceLifecycle
import Testing

@testable import HTTPServing

/// Answers that are written piece by piece.
@Suite(.timeLimit(.minutes(2)))
struct StreamTests {
    private static let request = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func `pieces are sent as they are written, in chunks, and the connection ends with the answer`() async throws {
        try await Server.run { server in
            let client = try await RawClient.connect(port: server.port, sending: Self.request + Self.request)
            let head = try await client.text(until: "\r\n\r\n")
            #expect(
                head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.contains("transfer-encoding: chunked") && head.contains("connection: close")
            )
            #expect(!head.contains("content-length"))
            for piece in ["one", "two"] {
                #expect(await server.write(piece))
                #expect(try await client.text(until: "\(piece)\r\n") == "3\r\n\(piece)\r\n")
            }
            server.end()
            #expect(try await client.untilClosed() == "0\r\n\r\n", "the request behind it is not answered")
        }
    }

    @Test func `a client of HTTP 1_0 gets the pieces without chunks, and HEAD gets no piece`() async throws {
        try await Server.run { server in
            let client = try await RawClient.connect(port: server.port, sending: "GET /stream HTTP/1.0\r\n\r\n")
            #expect(try await client.text(until: "\r\n\r\n").hasPrefix("HTTP/1.0 200 OK\r\n"))
            #expect(await server.write("one"))
            server.end()
            #expect(try await client.untilClosed() == "one")
            let head = try await RawClient.connect(port: server.port, sending: Self.request.replacing("GET", with: "HEAD"))
            #expect(try await head.response(toHead: true).status == 200)
            head.close()
        }
    }

    @Test func `a client that goes away ends the stream, also while nothing is written`() async throws {
        try await Server.run { server in
            let client = try await RawClient.connect(port: server.port, sending: Self.request)
            #expect(await server.write("one"))
            client.close()
            // The first write after the close may still be taken by the operating system.
            try await eventually("a write fails") { await !server.write("two") }
            server.end()
        }
    }

    @Test func `a slow client holds one piece, and is disconnected when it does not take it in time`() async throws {
        try await Server.run(limits: { $0.answerTimeout = .milliseconds(300) }) { server in
            let client = try await RawClient.connect(port: server.port, readsAnswers: false)
            try await client.send(Self.request)
            let piece = String(repeating: "x", count: 256 * 1024)
            var pieces = 0
            while await server.write(piece), pieces < 1000 { pieces += 1 }
            #expect(pieces < 100, "the operating system takes some")
            server.end()
            client.close()
        }
    }

    @Test func `the time of an answer does not end a stream that its client reads`() async throws {
        try await Server.run(limits: { ($0.answerTimeout, $0.requestDeadline) = (.milliseconds(200), .milliseconds(200)) }) { server in
            let client = try await RawClient.connect(port: server.port, sending: Self.request)
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .seconds(1) {
                #expect(await server.write("piece"))
                _ = try await client.text(until: "piece\r\n")
                try await Task.sleep(for: .milliseconds(250))
            }
            server.end()
            #expect(try await client.untilClosed() == "0\r\n\r\n")
        }
    }

    @Test func `the grace period of a shutdown ends a stream that goes on`() async throws {
        try await Server.run(limits: { $0.shutdownGrace = .milliseconds(300) }) { server in
            let client = try await RawClient.connect(port: server.port, sending: Self.request)
            #expect(await server.write("one"))
            await server.shutDown()
            try await client.untilEnded()
            #expect(await !server.write("two"))
            server.end()
        }
    }
}

/// A listener with a stream whose pieces a test writes.
private final class Server: Sendable {
    private enum Call {
        case write(String, CheckedContinuation<Bool, Never>)
    }

    let port: Int
    private let calls: AsyncStream<Call>.Continuation
    private let group: ServiceGroup

    private init(port: Int, calls: AsyncStream<Call>.Continuation, group: ServiceGroup) {
        (self.port, self.calls, self.group) = (port, calls, group)
    }

    static func run(limits change: (inout ListenerLimits) -> Void = { _ in }, _ body: (Server) async throws -> Void) async throws {
        let log = CapturedLog()
        var limits = ListenerLimits()
        change(&limits)
        let (calls, call) = AsyncStream.makeStream(of: Call.self)
        var routes = Routes()
        routes.on(.GET, "/stream") { _ in
            Response(headers: ["content-type": "text/event-stream"]) { writer in
                for await case .write(let piece, let taken) in calls { taken.resume(returning: await writer.write(piece)) }
            }
        }
        let (bound, binding) = AsyncStream.makeStream(of: Int?.self)
        let listener = HTTPListener(
            address: .tcp(host: "127.0.0.1", port: 0),
            limits: limits,
            routes: routes,
            admission: Admission(limits),
            metrics: ListenerMetrics(listener: "test"),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: log.logger
        ) { binding.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [listener], logger: log.logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { binding.finish() }
                try await group.run()
            }
            for await port in bound {
                try await body(Server(port: port ?? 0, calls: call, group: group))
                break
            }
            call.finish()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// Writes a piece; false when the connection is closed.
    func write(_ piece: String) async -> Bool {
        await withCheckedContinuation { _ = calls.yield(.write(piece, $0)) }
    }

    /// Ends the stream.
    func end() { calls.finish() }

    func shutDown() async { await group.triggerGracefulShutdown() }
}
