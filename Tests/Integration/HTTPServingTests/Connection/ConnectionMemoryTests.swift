import NIOEmbedded
import Testing

@testable import HTTPServing

/// The memory of request bodies, which all connections share.
struct ConnectionMemoryTests {
    static let request = "POST / HTTP/1.1\r\nHost: inbox\r\nContent-Length: 5\r\n\r\nhello"
    static let chunked = "Transfer-Encoding: chunked\r\n"
    static let step = BodyReservation.firstStep

    /// Usual bodies may have 256 KiB, bodies under `/large` 1 MiB.
    private var limits: ListenerLimits {
        var limits = ListenerLimits()
        limits.bodyBytesByPath = ["/large": 1 << 20]
        return limits
    }

    private func connection(_ admission: Admission) throws -> EmbeddedConnection {
        try EmbeddedConnection(limits: limits, admission: admission)
    }

    private func head(_ path: String, _ fields: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: inbox\r\n\(fields)\r\n"
    }

    private func chunk(_ bytes: Int) -> String {
        String(bytes, radix: 16) + "\r\n" + String(repeating: "x", count: bytes) + "\r\n"
    }

    @Test func `the memory for all requests is limited and released`() throws {
        let admission = Admission(memoryLimit: 12, hourlyLimit: 1000)
        let first = try EmbeddedConnection(admission: admission)
        let second = try EmbeddedConnection(admission: admission)
        let third = try EmbeddedConnection(admission: admission)
        try first.send(Self.request)
        try second.send(String(Self.request.dropLast()))
        try third.send(Self.request)
        #expect(try third.answers().hasPrefix("HTTP/1.1 503 "))

        try first.answer()
        _ = try second.channel.finish(acceptAlreadyClosed: true)
        let fourth = try EmbeddedConnection(admission: admission)
        try fourth.send(Self.request)
        let fifth = try EmbeddedConnection(admission: admission)
        try fifth.send(Self.request)
        #expect(try fourth.requests() == ["hello"])
        #expect(try fifth.requests() == ["hello"])
    }

    @Test func `a refused request releases its memory`() throws {
        let admission = Admission(memoryLimit: 5, hourlyLimit: 1000)
        let slow = try EmbeddedConnection(admission: admission)
        try slow.send(String(Self.request.dropLast()))
        slow.advance(by: slow.limits.requestDeadline)
        #expect(try slow.answers().hasPrefix("HTTP/1.1 408 "))
        #expect(admission.bytesInMemory == 0)
        let next = try EmbeddedConnection(admission: admission)
        try next.send(Self.request)
        #expect(try next.requests() == ["hello"])
    }

    @Test(arguments: [
        ("/large", "Content-Length: 1048576\r\n", 1 << 20), ("/large", chunked, 1 << 20), ("/", chunked, 1 << 18),
        ("/", "Content-Length: 262144\r\n", 1 << 18),
    ])
    func `a body reserves memory in steps as it arrives`(path: String, fields: String, most: Int) async throws {
        let admission = Admission(memoryLimit: 1 << 21, hourlyLimit: 1 << 30)
        let connection = try connection(admission)
        let piece: (Int) -> String = { fields == Self.chunked ? chunk($0) : String(repeating: "x", count: $0) }
        try connection.send(head(path, fields))
        #expect(admission.bytesInMemory == 0)
        var sent = 0
        for bytes in [1, Self.step - 1, 1, Self.step - 1, 1] {
            try connection.send(piece(bytes))
            sent += bytes
            #expect(admission.bytesInMemory == (sent <= Self.step ? 1 : sent <= 2 * Self.step ? 2 : 4) * Self.step)
        }
        try connection.send(piece(most - sent) + (fields == Self.chunked ? "0\r\n\r\n" : ""))
        #expect(admission.bytesInMemory == most)
        await connection.endpoint.runTasks()
        #expect(try connection.requests().map(\.utf8.count) == [most])
        try connection.answer()
        #expect(try connection.answers().hasPrefix("HTTP/1.1 200 "))
        #expect(admission.bytesInMemory == 0)
    }

    @Test(arguments: ["Content-Length: 1048576\r\n", chunked])
    func `however much the others hold, each connection may hold its share`(fields: String) throws {
        // Half of 2 MiB for 16 connections: 64 KiB each.
        let admission = Admission(memoryLimit: 1 << 21, largestBody: 1 << 20, connections: 16, hourlyLimit: 1 << 30)
        let piece = fields == Self.chunked ? chunk(4 * Self.step) : String(repeating: "x", count: 4 * Self.step)
        let slow = try (1...6).map { _ in try connection(admission) }
        for client in slow { try client.send(head("/large", fields)) }
        #expect(admission.bytesInMemory == 0)
        for client in slow { try client.send(piece) }
        #expect(try slow.map { try $0.answers().prefix(13) } == ["", "", "", "", "", "HTTP/1.1 503 "])
        #expect(admission.bytesInMemory == 5 * 4 * Self.step)

        let usual = try (1...11).map { _ in try connection(admission) }
        let body = String(repeating: "x", count: Self.step)
        for client in usual.dropLast() { try client.send(head("/", "Content-Length: \(Self.step)\r\n") + body) }
        try usual[10].send(head("/", "Content-Length: \(3 * Self.step)\r\n") + body + body + body)
        for client in usual.dropLast() { #expect(try client.requests().count == 1) }
        #expect(try usual[10].answers().hasPrefix("HTTP/1.1 503 "))
        #expect(admission.bytesInMemory == 30 * Self.step)
        for client in slow + usual { _ = try client.channel.finish(acceptAlreadyClosed: true) }
        #expect(admission.bytesInMemory == 0)
    }

    @Test func `a body that gets no more memory is refused and releases its memory`() async throws {
        let admission = Admission(memoryLimit: 1 << 20, largestBody: 1 << 20, hourlyLimit: 1 << 30)
        let (first, second) = (try connection(admission), try connection(admission))
        for client in [first, second] { try client.send(head("/large", Self.chunked) + chunk(1 << 19)) }
        #expect(admission.bytesInMemory == 1 << 20)
        try second.send(chunk(1))
        let answer = try second.answers()
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("too-many-bytes") && answer.contains("connection: close"))
        #expect(second.isOutputClosed && admission.bytesInMemory == 1 << 19)
        try second.send(chunk(Self.step))
        #expect(try second.answers() == "" && admission.bytesInMemory == 1 << 19)

        try first.send(chunk(1 << 19) + "0\r\n\r\n")
        await first.endpoint.runTasks()
        #expect(try first.requests().map(\.utf8.count) == [1 << 20])
        _ = try second.channel.finish(acceptAlreadyClosed: true)
        _ = try first.channel.finish(acceptAlreadyClosed: true)
        #expect(admission.bytesInMemory == 0)
    }

    @Test func `an admitted body is still received after shutdown begins`() throws {
        let admission = Admission(memoryLimit: 1 << 20, hourlyLimit: 1 << 30)
        let connection = try connection(admission)
        try connection.send(head("/", Self.chunked))
        admission.beginShutdown()
        try connection.send(chunk(5) + "0\r\n\r\n")
        #expect(try connection.requests() == ["xxxxx"])
    }
}
