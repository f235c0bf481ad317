import NIOCore
import Testing

@testable import HTTPServing

/// Clients that send requests and do not take the answers.
struct SlowReaderTests {
    private static let request = "POST / HTTP/1.1\r\nHost: inbox\r\nContent-Length: 5\r\n\r\nhello"

    @Test func `a request runs only when the client has taken the answer before it`() throws {
        let connection = try EmbeddedConnection()
        connection.peer.stall()
        try connection.send(Self.request + Self.request)
        connection.channel.read()
        try connection.answer()
        #expect(try connection.requests() == ["hello"])
        #expect(connection.peer.reads == 0, "nothing is read meanwhile")
        #expect(connection.admission.bytesInMemory == 0, "an answered request holds no memory")
        connection.peer.resume()
        #expect(try connection.answers().hasPrefix("HTTP/1.1 200 "))
        #expect(try connection.requests() == ["hello"])
        #expect(connection.peer.reads == 0)
        try connection.answer()
        #expect(connection.peer.reads == 1)
    }

    @Test func `a client that does not take its answer is disconnected at the timeout of the answer`() throws {
        let connection = try EmbeddedConnection()
        connection.peer.stall()
        try connection.send(Self.request)
        connection.advance(by: .seconds(1))
        try connection.answer()
        connection.advance(by: connection.limits.answerTimeout - .milliseconds(1001))
        #expect(!connection.isClosed)
        connection.advance(by: .milliseconds(1))
        #expect(connection.isClosed)
    }

    @Test func `the output is closed only when the client has taken the last answer`() throws {
        for last in [Self.request.replacing("Host", with: "Connection: close\r\nHost"), "rubbish\r\n\r\n"] {
            let connection = try EmbeddedConnection()
            connection.peer.stall()
            try connection.send(last)
            if last.hasPrefix("POST") { try connection.answer() }
            #expect(!connection.isOutputClosed)
            connection.peer.resume()
            #expect(connection.isOutputClosed)
            #expect(try connection.answers().contains("connection: close\r\n"))
        }
    }

    @Test func `a client that half-closes its connection while an answer is sent gets the whole answer`() throws {
        let connection = try EmbeddedConnection()
        connection.peer.stall()
        try connection.send(Self.request)
        try connection.answer()
        connection.closeInput()
        #expect(!connection.isClosed)
        connection.peer.resume()
        #expect(try connection.answers().hasPrefix("HTTP/1.1 200 "))
        #expect(connection.isClosed)
    }
}
