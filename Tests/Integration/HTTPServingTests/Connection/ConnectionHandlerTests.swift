import NIOEmbedded
import Testing

@testable import HTTPServing

struct ConnectionHandlerTests {
    static let head = "POST /apple/v2/notifications HTTP/1.1\r\nHost: inbox\r\n"
    static let request = head + "Content-Length: 5\r\n\r\nhello"

    @Test func `a complete request is dispatched and the connection kept`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.request)
        #expect(try connection.requests() == ["hello"])
        try connection.answer()
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(!answer.contains("close"))
        try connection.send(Self.request)
        #expect(try connection.requests() == ["hello"])
    }

    @Test func `a request is dispatched only after its last byte`() throws {
        let connection = try EmbeddedConnection()
        for byte in Self.request.dropLast() { try connection.send(String(byte)) }
        #expect(try connection.requests().isEmpty)
        try connection.send("o")
        #expect(try connection.requests() == ["hello"])
    }

    @Test(arguments: ["", "POST /apple", head + "Content-Length: 5\r\n\r\nhell", head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"])
    func `a request that is not complete in time is answered with 408`(beginning: String) throws {
        let connection = try EmbeddedConnection()
        try connection.send(beginning + (beginning.isEmpty ? "\r\n" : ""))
        connection.advance(by: connection.limits.requestDeadline - .milliseconds(1))
        #expect(try connection.answers() == "")
        connection.advance(by: .milliseconds(1))
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 408 "))
        #expect(answer.contains("connection: close"))
        #expect(connection.isOutputClosed)
    }

    @Test func `slow bytes do not extend the deadline`() throws {
        let connection = try EmbeddedConnection()
        for byte in Self.head.prefix(10) {
            try connection.send(String(byte))
            connection.advance(by: .seconds(1))
        }
        #expect(try connection.answers().hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `the deadline of the next request starts with its first byte`() throws {
        let connection = try EmbeddedConnection()
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

    @Test func `a connection without a request is closed without an answer`() throws {
        let fresh = try EmbeddedConnection()
        fresh.advance(by: fresh.limits.requestDeadline)
        #expect(fresh.isClosed)
        #expect(try fresh.answers() == "")

        let idle = try EmbeddedConnection()
        try idle.send(Self.request)
        try idle.answer()
        _ = try idle.answers()
        idle.advance(by: idle.limits.idleTimeout - .milliseconds(1))
        #expect(!idle.isClosed)
        idle.advance(by: .milliseconds(1))
        #expect(idle.isClosed)
        #expect(try idle.answers() == "")
    }

    @Test func `a request without an answer is closed at the timeout`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.request)
        connection.advance(by: connection.limits.answerTimeout)
        #expect(connection.isClosed)
    }

    @Test func `a body with a too large Content-Length is refused before it is read`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.head + "Content-Length: 262145\r\n\r\n")
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
        #expect(connection.isOutputClosed)
        try connection.send(String(repeating: "x", count: 262145))
        #expect(try connection.requests().isEmpty)
        #expect(try connection.answers() == "")
    }

    @Test func `a path may have its own limit, with any query`() throws {
        var limits = ListenerLimits()
        limits.bodyBytesByPath = ["/large": 300_000, "/small": 2]
        func refusal(_ target: String, bytes: Int) throws -> Substring? {
            let connection = try EmbeddedConnection(limits: limits)
            try connection.send("POST \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes)\r\n\r\n")
            let answer = try connection.answers()
            #expect(connection.admission.bytesInMemory == 0)
            guard answer.hasPrefix("HTTP/1.1 413 ") else { return nil }
            return answer.firstMatch(of: /at most (\d+) bytes/)?.1
        }
        for target in ["/large", "/large?", "/large?x=1?y", "http://x/large", "http://x/large?y"] {
            #expect(try refusal(target, bytes: 300_000) == nil, "\(target)")
            #expect(try refusal(target, bytes: 300_001) == "300000", "\(target)")
        }
        #expect(try refusal("/small", bytes: 3) == "2")
        for target in ["/", "/large/", "/larg%65", "/?/large", "http://x", "http://x/"] {
            #expect(try refusal(target, bytes: 262_144) == nil, "\(target)")
            #expect(try refusal(target, bytes: 262_145) == "262144", "\(target)")
        }
    }

    @Test func `the limit of a path applies to chunked bodies`() throws {
        var limits = ListenerLimits()
        limits.bodyBytesByPath = ["/large": 300_000]
        let connection = try EmbeddedConnection(limits: limits)
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

    @Test func `a chunked body is refused when it exceeds the limit`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.head + "Transfer-Encoding: chunked\r\n\r\n")
        let chunk = "10000\r\n" + String(repeating: "x", count: 65536) + "\r\n"
        for _ in 1...4 { try connection.send(chunk) }
        #expect(try connection.answers() == "")
        try connection.send("1\r\nx\r\n")
        #expect(try connection.answers().hasPrefix("HTTP/1.1 413 "))
        #expect(connection.isOutputClosed)
    }

    @Test func `a chunked body within the limit is dispatched`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.head + "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\n")
        #expect(try connection.requests() == ["hello"])
    }

    @Test func `100 (Continue) is sent only to a client that expects it`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.head + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        #expect(try connection.answers() == "HTTP/1.1 100 Continue\r\n\r\n")
        try connection.send("hello")
        #expect(try connection.requests() == ["hello"])
        try connection.answer()
        #expect(try connection.answers().hasPrefix("HTTP/1.1 200 OK\r\n"))

        let large = try EmbeddedConnection()
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
        let connection = try EmbeddedConnection()
        try connection.send("POST / HTTP/1.1\r\n" + fields)
        #expect(try connection.answers().hasPrefix("HTTP/1.1 \(status) "))
        #expect(connection.isOutputClosed)
        #expect(try connection.requests().isEmpty)
    }

    @Test func `input after a refusal is discarded until the linger timeout, then the connection is closed`() throws {
        let connection = try EmbeddedConnection()
        try connection.send("rubbish\r\n\r\n")
        #expect(try connection.answers().hasPrefix("HTTP/1.1 400 "))
        try connection.send(Self.request)
        #expect(try connection.requests().isEmpty)
        #expect(!connection.isClosed)
        connection.advance(by: connection.limits.lingerTimeout)
        #expect(connection.isClosed)
        #expect(try connection.answers() == "")
    }

    @Test func `pipelined requests are dispatched one at a time and in order`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.head + "Content-Length: 1\r\n\r\n1" + Self.head + "Content-Length: 1\r\n\r\n2" + Self.head)
        #expect(try connection.requests() == ["1"])
        try connection.answer()
        #expect(try connection.requests() == ["2"])
        try connection.answer()
        try connection.send("Content-Length: 1\r\n\r\n3")
        #expect(try connection.requests() == ["3"])
    }

    @Test func `a refusal is sent after the previous answer`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.request + "rubbish\r\n\r\n")
        #expect(try connection.answers() == "")
        try connection.answer()
        let answers = try connection.answers()
        #expect(answers.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answers.contains("HTTP/1.1 400 Bad Request\r\n"))
        #expect(connection.isOutputClosed)
    }

    @Test func `a client that pipelines without limit is disconnected`() throws {
        let connection = try EmbeddedConnection()
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
    func `the connection is closed after the answer when the client requests it`(request: String, ends: Bool) throws {
        let connection = try EmbeddedConnection()
        try connection.send(request)
        try connection.answer()
        #expect(try connection.answers().contains("connection: close") == ends)
        #expect(connection.isOutputClosed == ends)
    }

    @Test func `a client that half-closes its connection gets all answers`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.request + Self.request)
        connection.closeInput()
        try connection.answer()
        #expect(!connection.isClosed)
        try connection.answer()
        #expect(connection.isClosed)
        let answers = try connection.answers()
        #expect(answers.split(separator: "200 OK").count == 3)
        #expect(answers.split(separator: "connection: close").count == 2, "the last answer is known to be the last")
    }

    @Test func `an endpoint can see that its client has closed its half or the whole connection`() throws {
        for isWhole in [false, true] {
            let connection = try EmbeddedConnection()
            try connection.send(Self.request + Self.request)
            let first = try #require(connection.endpoint.oldest).client
            #expect(!first.isGone)
            if isWhole { _ = try connection.channel.finish(acceptAlreadyClosed: true) } else { connection.closeInput() }
            #expect(first.isGone)
            guard !isWhole else { continue }
            try connection.answer()
            #expect(try #require(connection.endpoint.oldest).client.isGone, "the next request was sent before")
        }
    }

    @Test(arguments: ["POST /apple", head + "Content-Length: 5\r\n\r\nhell", head + "Content-Length: 5\r\n\r\n"])
    func `a client that half-closes its connection within a request is disconnected`(beginning: String) throws {
        for before in ["", Self.request] {
            let connection = try EmbeddedConnection()
            try connection.send(before + beginning)
            connection.closeInput()
            if !before.isEmpty { try connection.answer() }
            #expect(connection.isClosed)
            #expect(try connection.answers().isEmpty == before.isEmpty)
            #expect(connection.admission.bytesInMemory == 0)
        }
    }
}
