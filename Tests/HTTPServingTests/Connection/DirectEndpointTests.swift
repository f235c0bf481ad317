import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import Testing

@testable import HTTPServing

/// Requests that are answered on their connection's event loop.
@Suite struct DirectEndpointTests {
    /// What an endpoint was given, and whom it has to answer.
    private final class Desk: Sendable {
        let calls = Mutex<[(contentType: String?, body: String, answer: DirectEndpoint.Answer)]>([])

        var endpoints: [String: DirectEndpoint] {
            [
                "/post": DirectEndpoint { fields, body, answer in
                    self.calls.withLock { $0.append((fields.first(name: "content-type"), String(buffer: body), answer)) }
                }
            ]
        }

        var bodies: [String] { calls.withLock { $0.map(\.body) } }

        func answer(_ problem: Problem? = nil) throws {
            let call = calls.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            try #require(call).answer(problem)
        }
    }

    private let desk = Desk()

    private func connect() throws -> GuardedConnection { try GuardedConnection(directEndpoints: desk.endpoints) }

    private func post(_ body: String, to path: String = "/post", version: String = "1.1") -> String {
        "POST \(path) HTTP/\(version)\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private func answers(_ connection: GuardedConnection) throws -> String {
        connection.channel.embeddedEventLoop.run()
        return try connection.answers()
    }

    @Test func `a whole request goes to its endpoint, and is answered when that says so`() throws {
        let connection = try connect()
        try connection.send(String(post("hello").dropLast(2)))
        #expect(desk.bodies == [])
        try connection.send("lo")
        #expect(desk.bodies == ["hello"])
        #expect(desk.calls.withLock { $0.first?.contentType } == "text/plain")
        #expect(try answers(connection) == "")
        #expect(try connection.requests() == [], "it goes no further")
        try desk.answer()
        let answer = try answers(connection)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\ncontent-length: 0\r\ndate: ") && answer.hasSuffix(" GMT\r\n\r\n"), "\(answer)")
        #expect(connection.admission.bytesInMemory == 0)
        #expect(!connection.isClosed)
    }

    @Test func `a refusal leaves the connection open for the next request`() throws {
        let connection = try connect()
        try connection.send(post("one"))
        try desk.answer(.unsupportedMediaType)
        let refusal = try answers(connection)
        #expect(refusal.hasPrefix("HTTP/1.1 415 ") && refusal.contains("application/problem+json"), "\(refusal)")
        #expect(!refusal.contains("connection: close"))
        try connection.send(post("two"))
        try desk.answer()
        #expect(try answers(connection).hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `what is pipelined waits for its turn`() throws {
        let connection = try connect()
        try connection.send(post("one") + post("two"))
        #expect(desk.bodies == ["one"])
        try desk.answer()
        #expect(try answers(connection).hasPrefix("HTTP/1.1 200 "))
        #expect(desk.bodies == ["two"])
    }

    @Test func `the last answer says so and ends the connection`() throws {
        let connection = try connect()
        try connection.send(post("one", version: "1.0"))
        try desk.answer()
        #expect(try answers(connection).contains("connection: close\r\n"))
        #expect(connection.isClosed)
    }

    @Test func `an answer that comes too late is nobody's`() throws {
        let connection = try connect()
        try connection.send(post("one"))
        connection.advance(by: connection.limits.answerTimeout)
        #expect(connection.isClosed)
        try desk.answer()
        #expect(try answers(connection) == "")
    }

    @Test func `a body above the usual limit is not read on the event loop`() throws {
        var limits = ConnectionLimits()
        (limits.maximumBodyBytes, limits.bodyBytesByPath) = (5, ["/post": 6])
        let connection = try GuardedConnection(limits: limits, directEndpoints: desk.endpoints)
        try connection.send(post("usual"))
        #expect(desk.bodies == ["usual"])
        try desk.answer()
        #expect(try answers(connection).hasPrefix("HTTP/1.1 200 "))
        try connection.send(post("larger"))
        #expect(desk.bodies == [])
        #expect(try connection.requests() == ["larger"])
    }

    @Test func `other methods and other paths are not its affair`() throws {
        let connection = try connect()
        try connection.send(post("one", to: "/post?x=1"))
        #expect(try connection.requests() == ["one"])
        try connection.answer()
        try connection.send("GET /post HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.requests() == [""])
        #expect(desk.bodies == [])
    }
}
