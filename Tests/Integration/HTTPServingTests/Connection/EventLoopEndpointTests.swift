import NIOCore
import NIOEmbedded
import NIOHTTP1
import Synchronization
import Testing

@testable import HTTPServing

/// Requests answered on the event loop of their connection.
@Suite struct EventLoopEndpointTests {
    /// Endpoints whose calls the test answers.
    private final class ScriptedEndpoints: Sendable {
        let calls = Mutex<[(contentType: String?, body: String, answer: EventLoopEndpoint.Answer)]>([])

        var byPath: [String: EventLoopEndpoint] {
            [
                "/post": EventLoopEndpoint { fields, body, answer in
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

    private let endpoints = ScriptedEndpoints()

    private func connect() throws -> EmbeddedConnection { try EmbeddedConnection(eventLoopEndpoints: endpoints.byPath) }

    private func post(_ body: String, to path: String = "/post", version: String = "1.1") -> String {
        "POST \(path) HTTP/\(version)\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private func answers(_ connection: EmbeddedConnection) throws -> String {
        connection.channel.embeddedEventLoop.run()
        return try connection.answers()
    }

    @Test func `a complete request goes to its endpoint and is answered when the endpoint answers`() throws {
        let connection = try connect()
        try connection.send(String(post("hello").dropLast(2)))
        #expect(endpoints.bodies == [])
        try connection.send("lo")
        #expect(endpoints.bodies == ["hello"])
        #expect(endpoints.calls.withLock { $0.first?.contentType } == "text/plain")
        #expect(try answers(connection) == "")
        #expect(try connection.requests() == [], "the request is not passed on")
        try endpoints.answer()
        let answer = try answers(connection)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\ncontent-length: 0\r\ndate: ") && answer.hasSuffix(" GMT\r\n\r\n"), "\(answer)")
        #expect(connection.admission.bytesInMemory == 0)
        #expect(!connection.isClosed)
    }

    @Test func `a refusal leaves the connection open for the next request`() throws {
        let connection = try connect()
        try connection.send(post("one"))
        try endpoints.answer(.unsupportedMediaType)
        let refusal = try answers(connection)
        #expect(refusal.hasPrefix("HTTP/1.1 415 ") && refusal.contains("application/problem+json"), "\(refusal)")
        #expect(!refusal.contains("connection: close"))
        try connection.send(post("two"))
        try endpoints.answer()
        #expect(try answers(connection).hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `a pipelined request waits for the answer before it`() throws {
        let connection = try connect()
        try connection.send(post("one") + post("two"))
        #expect(endpoints.bodies == ["one"])
        try endpoints.answer()
        #expect(try answers(connection).hasPrefix("HTTP/1.1 200 "))
        #expect(endpoints.bodies == ["two"])
    }

    @Test func `the last answer carries Connection: close and ends the connection`() throws {
        let connection = try connect()
        try connection.send(post("one", version: "1.0"))
        try endpoints.answer()
        #expect(try answers(connection).contains("connection: close\r\n"))
        #expect(connection.isClosed)
    }

    @Test func `an answer after the timeout is discarded`() throws {
        let connection = try connect()
        try connection.send(post("one"))
        connection.advance(by: connection.limits.answerTimeout)
        #expect(connection.isClosed)
        try endpoints.answer()
        #expect(try answers(connection) == "")
    }

    @Test func `a body above the usual limit is not read on the event loop`() throws {
        var limits = ConnectionLimits()
        (limits.maximumBodyBytes, limits.bodyBytesByPath) = (5, ["/post": 6])
        let connection = try EmbeddedConnection(limits: limits, eventLoopEndpoints: endpoints.byPath)
        try connection.send(post("usual"))
        #expect(endpoints.bodies == ["usual"])
        try endpoints.answer()
        #expect(try answers(connection).hasPrefix("HTTP/1.1 200 "))
        try connection.send(post("larger"))
        #expect(endpoints.bodies == [])
        #expect(try connection.requests() == ["larger"])
    }

    @Test func `requests with other methods or paths are passed on`() throws {
        let connection = try connect()
        try connection.send(post("one", to: "/post?x=1"))
        #expect(try connection.requests() == ["one"])
        try connection.answer()
        try connection.send("GET /post HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.requests() == [""])
        #expect(endpoints.bodies == [])
    }
}
