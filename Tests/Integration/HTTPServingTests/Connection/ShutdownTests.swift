import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServing

struct ShutdownTests {
    static let request = "POST / HTTP/1.1\r\nHost: inbox\r\nContent-Length: 5\r\n\r\nhello"

    private func shutDown(_ connection: EmbeddedConnection) {
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    @Test func `an idle connection is closed after a second`() throws {
        let connection = try EmbeddedConnection()
        shutDown(connection)
        connection.advance(by: connection.limits.shutdownIdleTimeout - .milliseconds(1))
        #expect(!connection.isClosed)
        connection.advance(by: .milliseconds(1))
        #expect(connection.isClosed)
    }

    @Test func `a request that was on its way is answered, and is the last of its connection`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.request)
        shutDown(connection)
        connection.admission.beginShutdown()
        #expect(try connection.requests() == ["hello"])
        try connection.answer()
        #expect(try connection.answers().contains("connection: close"))
        let kept = try EmbeddedConnection()
        shutDown(kept)
        try kept.send(Self.request + Self.request)
        #expect(try kept.requests() == ["hello"])
        try kept.answer()
        #expect(try kept.answers().contains("connection: close") && kept.isOutputClosed)
    }

    @Test func `a request that has begun is received and answered before the connection is closed`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(String(Self.request.dropLast()))
        shutDown(connection)
        try connection.send("o")
        #expect(try connection.requests() == ["hello"])
        try connection.answer()
        #expect(try connection.answers().contains("connection: close"))
        #expect(connection.isOutputClosed)
        connection.advance(by: connection.limits.lingerTimeout)
        #expect(connection.isClosed)
    }

    @Test func `the connection is closed when the grace period ends`() throws {
        var limits = ListenerLimits()
        limits.shutdownGrace = .seconds(3)
        let connection = try EmbeddedConnection(limits: limits)
        try connection.send(Self.request)
        shutDown(connection)
        connection.advance(by: .milliseconds(2999))
        #expect(!connection.isClosed)
        connection.advance(by: .milliseconds(1))
        #expect(connection.isClosed)
    }
}
