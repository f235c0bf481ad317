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

    @Test func `the memory for all requests is limited, and given back`() throws {
        let admission = Admission(memoryLimit: 12, hourlyLimit: 1000)
        let first = try GuardedConnection(admission: admission)
        let second = try GuardedConnection(admission: admission)
        let third = try GuardedConnection(admission: admission)
        try first.send(Self.request)
        try second.send(String(Self.request.dropLast()))
        try third.send(Self.request)
        #expect(try third.answers().hasPrefix("HTTP/1.1 503 "))

        try first.answer()
        _ = try second.channel.finish(acceptAlreadyClosed: true)
        let fourth = try GuardedConnection(admission: admission)
        try fourth.send(Self.request)
        let fifth = try GuardedConnection(admission: admission)
        try fifth.send(Self.request)
        #expect(try fourth.requests() == ["hello"])
        #expect(try fifth.requests() == ["hello"])
    }

    @Test func `a chunked request counts as large as it may become`() throws {
        let limits = ConnectionLimits()
        let admission = Admission(memoryLimit: limits.maximumBodyBytes + 4, hourlyLimit: 1 << 30)
        let chunked = try GuardedConnection(limits: limits, admission: admission)
        try chunked.send("POST / HTTP/1.1\r\nHost: inbox\r\nTransfer-Encoding: chunked\r\n\r\n")
        let other = try GuardedConnection(limits: limits, admission: admission)
        try other.send(Self.request)
        #expect(try other.answers().hasPrefix("HTTP/1.1 503 "))
    }

    @Test func `a refused request gives its memory back`() throws {
        let admission = Admission(memoryLimit: 5, hourlyLimit: 1000)
        let slow = try GuardedConnection(admission: admission)
        try slow.send(String(Self.request.dropLast()))
        slow.advance(by: slow.limits.requestDeadline)
        #expect(try slow.answers().hasPrefix("HTTP/1.1 408 "))
        let next = try GuardedConnection(admission: admission)
        try next.send(Self.request)
        #expect(try next.requests() == ["hello"])
    }
}
