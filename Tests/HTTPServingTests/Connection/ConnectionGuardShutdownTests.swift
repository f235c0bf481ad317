import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServing

struct ConnectionGuardShutdownTests {
    static let request = "POST / HTTP/1.1\r\nHost: inbox\r\nContent-Length: 5\r\n\r\nhello"

    private func shutDown(_ connection: GuardedConnection) {
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    @Test func `closes at once when it is idle`() throws {
        let connection = try GuardedConnection()
        shutDown(connection)
        #expect(connection.isClosed)
    }

    @Test func `still receives and answers the request that has begun, then closes`() throws {
        let connection = try GuardedConnection()
        try connection.send(String(Self.request.dropLast()))
        shutDown(connection)
        try connection.send("o")
        #expect(try connection.requests() == ["hello"])
        try connection.answer()
        #expect(try connection.answers().contains("connection: close"))
        #expect(connection.isClosed)
    }

    @Test func `does not wait for longer than the grace`() throws {
        var limits = ConnectionLimits()
        limits.shutdownGrace = .seconds(3)
        let connection = try GuardedConnection(limits: limits)
        try connection.send(Self.request)
        shutDown(connection)
        connection.advance(by: .milliseconds(2999))
        #expect(!connection.isClosed)
        connection.advance(by: .milliseconds(1))
        #expect(connection.isClosed)
    }

    @Test func `takes no new request when the server is closed to new ones`() throws {
        let connection = try GuardedConnection()
        connection.admission.close()
        try connection.send(Self.request)
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.contains("retry-after: 1"))
    }
}
