import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServing

struct ConnectionGuardTests {
    static let head = "POST /apple/v2/notifications HTTP/1.1\r\nHost: inbox\r\n"
    static let request = head + "Content-Length: 5\r\n\r\nhello"

    @Test func `lets a whole request through and keeps the connection`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.request)
        #expect(try connection.requests() == ["hello"])
        try connection.answer()
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(!answer.contains("close"))
        try connection.send(Self.request)
        #expect(try connection.requests() == ["hello"])
    }

    @Test func `holds a request back until its last byte has come`() throws {
        let connection = try GuardedConnection()
        for byte in Self.request.dropLast() { try connection.send(String(byte)) }
        #expect(try connection.requests().isEmpty)
        try connection.send("o")
        #expect(try connection.requests() == ["hello"])
    }

    @Test(arguments: ["", "POST /apple", head + "Content-Length: 5\r\n\r\nhell", head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"])
    func `answers 408 when a request is not complete in time`(beginning: String) throws {
        let connection = try GuardedConnection()
        try connection.send(beginning + (beginning.isEmpty ? "\r\n" : ""))
        connection.advance(by: connection.limits.requestDeadline - .milliseconds(1))
        #expect(try connection.answers() == "")
        connection.advance(by: .milliseconds(1))
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 408 "))
        #expect(answer.contains("connection: close"))
        #expect(connection.isOutputClosed)
    }

    @Test func `a trickle of bytes does not move the deadline`() throws {
        let connection = try GuardedConnection()
        for byte in Self.head.prefix(10) {
            try connection.send(String(byte))
            connection.advance(by: .seconds(1))
        }
        #expect(try connection.answers().hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `the deadline of the next request starts with its first byte`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.request)
        try connection.answer()
        _ = try connection.answers()
        connection.advance(by: .seconds(30))
        try connection.send("POST")
        connection.advance(by: connection.limits.requestDeadline - .milliseconds(1))
        #expect(try connection.answers() == "")
        connection.advance(by: .milliseconds(1))
        #expect(try connection.answers().hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `a connection without a request is closed in silence`() throws {
        let fresh = try GuardedConnection()
        fresh.advance(by: fresh.limits.requestDeadline)
        #expect(fresh.isClosed)
        #expect(try fresh.answers() == "")

        let idle = try GuardedConnection()
        try idle.send(Self.request)
        try idle.answer()
        _ = try idle.answers()
        idle.advance(by: idle.limits.idleTimeout - .milliseconds(1))
        #expect(!idle.isClosed)
        idle.advance(by: .milliseconds(1))
        #expect(idle.isClosed)
        #expect(try idle.answers() == "")
    }

    @Test func `a request whose answer does not come is given up`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.request)
        connection.advance(by: connection.limits.answerTimeout)
        #expect(connection.isClosed)
    }

    @Test func `a body that is announced too large is refused before it is read`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.head + "Content-Length: 262145\r\n\r\n")
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
        #expect(connection.isOutputClosed)
        try connection.send(String(repeating: "x", count: 262145))
        #expect(try connection.requests().isEmpty)
        #expect(try connection.answers() == "")
    }

    @Test func `a path may have a limit of its own, whatever its query`() throws {
        var limits = ConnectionLimits()
        limits.bodyBytesByPath = ["/large": 300_000, "/small": 2]
        func refusal(_ target: String, bytes: Int) throws -> Substring? {
            let connection = try GuardedConnection(limits: limits)
            try connection.send("POST \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes)\r\n\r\n")
            let answer = try connection.answers()
            // What is larger than usual is reserved as it comes.
            #expect(connection.admission.bytesInMemory == (answer.isEmpty && bytes <= limits.maximumBodyBytes ? bytes : 0))
            guard answer.hasPrefix("HTTP/1.1 413 ") else { return nil }
            return answer.firstMatch(of: /at most (\d+) bytes/)?.1
        }
        for target in ["/large", "/large?", "/large?x=1?y"] {
            #expect(try refusal(target, bytes: 300_000) == nil, "\(target)")
            #expect(try refusal(target, bytes: 300_001) == "300000", "\(target)")
        }
        #expect(try refusal("/small", bytes: 3) == "2")
        for target in ["/", "/large/", "/larg%65", "/?/large", "http://x/large"] {
            #expect(try refusal(target, bytes: 262_144) == nil, "\(target)")
            #expect(try refusal(target, bytes: 262_145) == "262144", "\(target)")
        }
    }

    @Test func `a chunked body has the limit of its path, too`() throws {
        var limits = ConnectionLimits()
        limits.bodyBytesByPath = ["/large": 300_000]
        let connection = try GuardedConnection(limits: limits)
        try connection.send("POST /large HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(connection.admission.bytesInMemory == 0)
        try connection.send("493e0\r\n" + String(repeating: "x", count: 300_000) + "\r\n")
        #expect(try connection.answers() == "")
        #expect(connection.admission.bytesInMemory == 300_000)
        try connection.send("1\r\nx\r\n")
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("at most 300000 bytes"))
        #expect(connection.admission.bytesInMemory == 0)
    }

    @Test func `a chunked body is refused when it grows too large`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.head + "Transfer-Encoding: chunked\r\n\r\n")
        let chunk = "10000\r\n" + String(repeating: "x", count: 65536) + "\r\n"
        for _ in 1...4 { try connection.send(chunk) }
        #expect(try connection.answers() == "")
        try connection.send("1\r\nx\r\n")
        #expect(try connection.answers().hasPrefix("HTTP/1.1 413 "))
        #expect(connection.isOutputClosed)
    }

    @Test func `a chunked body within the limit is let through`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.head + "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\n")
        #expect(try connection.requests() == ["hello"])
    }

    @Test func `answers 100 when the client waits for it, and only then`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.head + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        #expect(try connection.answers() == "HTTP/1.1 100 Continue\r\n\r\n")
        try connection.send("hello")
        #expect(try connection.requests() == ["hello"])
        try connection.answer()
        #expect(try connection.answers().hasPrefix("HTTP/1.1 200 OK\r\n"))

        let large = try GuardedConnection()
        try large.send(Self.head + "Content-Length: 262145\r\nExpect: 100-continue\r\n\r\n")
        #expect(try large.answers().hasPrefix("HTTP/1.1 413 "))
    }

    @Test(arguments: [
        ("Host: inbox\r\n\r\n", 411),
        ("Host: inbox\r\nContent-Length: 5, 6\r\n\r\n", 400),
        ("Host: inbox\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        ("Host: inbox\r\nContent-Length: -1\r\n\r\n", 400),
        ("Host: inbox\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("Host: inbox\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("Host: inbox\r\nContent-Length: 5\r\nExpect: tea\r\n\r\n", 417),
        ("Content-Length: 5\r\n\r\n", 400),
        ("Host: a\r\nHost: b\r\nContent-Length: 5\r\n\r\n", 400),
        ("Host: inbox\r\nNo colon\r\n\r\n", 400),
        ("Host: inbox\r\nX: \(String(repeating: "x", count: 17000))\r\n\r\n", 431),
        ("Host: inbox\r\n\((1 ... 70).map { "X\($0): y\r\n" }.joined())\r\n", 431),
    ])
    func `a head that cannot be served is refused and ends the connection`(fields: String, status: Int) throws {
        let connection = try GuardedConnection()
        try connection.send("POST / HTTP/1.1\r\n" + fields)
        #expect(try connection.answers().hasPrefix("HTTP/1.1 \(status) "))
        #expect(connection.isOutputClosed)
        #expect(try connection.requests().isEmpty)
    }

    @Test func `what follows a refusal is thrown away for a while, then the connection is closed`() throws {
        let connection = try GuardedConnection()
        try connection.send("rubbish\r\n\r\n")
        #expect(try connection.answers().hasPrefix("HTTP/1.1 400 "))
        try connection.send(Self.request)
        #expect(try connection.requests().isEmpty)
        #expect(!connection.isClosed)
        connection.advance(by: connection.limits.lingerTimeout)
        #expect(connection.isClosed)
        #expect(try connection.answers() == "")
    }

    @Test func `pipelined requests are let through one at a time and in order`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.head + "Content-Length: 1\r\n\r\n1" + Self.head + "Content-Length: 1\r\n\r\n2" + Self.head)
        #expect(try connection.requests() == ["1"])
        try connection.answer()
        #expect(try connection.requests() == ["2"])
        try connection.answer()
        try connection.send("Content-Length: 1\r\n\r\n3")
        #expect(try connection.requests() == ["3"])
    }

    @Test func `a refusal waits for the answer before it`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.request + "rubbish\r\n\r\n")
        #expect(try connection.answers() == "")
        try connection.answer()
        let answers = try connection.answers()
        #expect(answers.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answers.contains("HTTP/1.1 400 Bad Request\r\n"))
        #expect(connection.isOutputClosed)
    }

    @Test func `a client that sends on without end before its answer is cut off`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.request)
        for _ in 1...5000 where !connection.isClosed { try connection.send(Self.request) }
        #expect(connection.isClosed)
    }

    @Test(arguments: [
        ("POST / HTTP/1.1\r\nHost: inbox\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", true),
        ("POST / HTTP/1.1\r\nHost: inbox\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n", true),
        ("POST / HTTP/1.1\r\nHost: inbox\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n", true),
        ("POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n", true),
        ("POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", false),
        ("POST / HTTP/1.1\r\nHost: inbox\r\nContent-Length: 0\r\n\r\n", false),
    ])
    func `the connection ends after the answer when the client wants that`(request: String, ends: Bool) throws {
        let connection = try GuardedConnection()
        try connection.send(request)
        try connection.answer()
        #expect(try connection.answers().contains("connection: close") == ends)
        #expect(connection.isClosed == ends)
    }

    @Test func `a client that closes its side gets all its answers`() throws {
        let connection = try GuardedConnection()
        try connection.send(Self.request + Self.request)
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        try connection.answer()
        #expect(!connection.isClosed)
        try connection.answer()
        #expect(connection.isClosed)
        #expect(try connection.answers().split(separator: "200 OK").count == 3)
    }
}
