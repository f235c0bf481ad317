import Testing

@testable import HTTPServing

/// Where the endpoint of a request runs, and how its answer is written.
@Suite struct EndpointTests {
    private func post(_ body: String, to path: String = "/post", version: String = "1.1") -> String {
        "POST \(path) HTTP/\(version)\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test func `a complete request goes to its endpoint and is answered when the endpoint answers`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(String(post("hello").dropLast(2)))
        #expect(try connection.requests() == [])
        try connection.send("lo")
        #expect(connection.endpoint.oldest?.field("content-type") == "text/plain")
        #expect(try connection.requests() == ["hello"])
        #expect(try connection.answers() == "")
        try connection.answer()
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\ncontent-length: 0\r\ndate: ") && answer.hasSuffix(" GMT\r\n\r\n"), "\(answer)")
        #expect(connection.admission.bytesInMemory == 0)
        #expect(!connection.isClosed)
    }

    @Test(arguments: ["/post", "/post?", "/post?x=1", "http://x/post", "http://x/post?x=1"])
    func `every spelling of a target goes the same way`(target: String) throws {
        let connection = try EmbeddedConnection()
        try connection.send(post("hello", to: target))
        #expect(try connection.requests() == ["hello"])
        #expect(
            connection.endpoint.oldest?.query
                == (target.contains("?") ? String(target.split(separator: "?", omittingEmptySubsequences: false)[1]) : nil)
        )
    }

    @Test(arguments: ["/none", "/post/", "/pos%74", "/", "*", "http://x"])
    func `another path is not found or another resource`(target: String) throws {
        let connection = try EmbeddedConnection()
        try connection.send("OPTIONS \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
        let isRoot = ["/", "http://x"].contains(target)
        #expect(try connection.answers().hasPrefix(isRoot ? "HTTP/1.1 405 " : "HTTP/1.1 404 "))
    }

    @Test func `another method is refused with the methods of the resource`() throws {
        let connection = try EmbeddedConnection()
        try connection.send("GET /post HTTP/1.1\r\nHost: x\r\n\r\n")
        let answer = try connection.answers()
        #expect(answer.hasPrefix("HTTP/1.1 405 ") && answer.contains("allow: POST\r\n"))
        #expect(!connection.isOutputClosed)
        try connection.send("HEAD /post HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.answers().hasSuffix("\r\n\r\n"), "no body")
    }

    @Test func `a refusal leaves the connection open for the next request`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(post("one"))
        try connection.answer(.failure(.unsupportedMediaType))
        let refusal = try connection.answers()
        #expect(refusal.hasPrefix("HTTP/1.1 415 ") && refusal.contains("application/problem+json"), "\(refusal)")
        #expect(!refusal.contains("connection: close"))
        try connection.send(post("two"))
        try connection.answer()
        #expect(try connection.answers().hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `the last answer carries Connection: close and ends the connection`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(post("one", version: "1.0"))
        try connection.answer()
        #expect(try connection.answers().contains("connection: close\r\n"))
        #expect(connection.isOutputClosed)
        connection.closeInput()
        connection.advance(by: connection.limits.lingerTimeout)
        #expect(connection.isClosed)
    }

    @Test func `an answer after the timeout is discarded`() throws {
        let connection = try EmbeddedConnection()
        try connection.send(post("one"))
        connection.advance(by: connection.limits.answerTimeout)
        #expect(connection.isClosed)
        #expect(connection.admission.bytesInMemory == 0)
        try connection.answer()
        #expect(try connection.answers() == "")
    }

    @Test func `a body above the usual limit is not read on the event loop`() async throws {
        var limits = ListenerLimits()
        (limits.maximumBodyBytes, limits.bodyBytesByPath) = (5, ["/post": 6])
        let connection = try EmbeddedConnection(limits: limits)
        try connection.send(post("usual"))
        #expect(try connection.requests() == ["usual"])
        try connection.answer()
        #expect(try connection.answers().hasPrefix("HTTP/1.1 200 "))
        try connection.send(post("larger"))
        #expect(try connection.requests() == [])
        await connection.endpoint.runTasks()
        #expect(try connection.requests() == ["larger"])
        try connection.answer()
        #expect(try connection.answers().hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `other endpoints run in a task, and GET answers HEAD`() async throws {
        let connection = try EmbeddedConnection()
        for (method, body) in [("GET", "task a/b"), ("HEAD", "")] {
            try connection.send("\(method) /task/a%2Fb HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(connection.endpoint.taskCount == 1)
            #expect(try connection.answers() == "")
            await connection.endpoint.runTasks()
            let answer = try connection.answers()
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n" + body), "\(answer)")
            #expect(answer.contains("content-length: 8\r\n"))
        }
    }
}
