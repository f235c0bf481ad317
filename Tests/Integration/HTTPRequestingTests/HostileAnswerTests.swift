import HTTPRequesting
import NIOHTTP1
import Randomness
import Testing

/// What a server sends in place of an answer.
@Suite(.timeLimit(.minutes(5)))
struct HostileAnswerTests {
    private static let fine = RawServer.Reply("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    private static func request(_ server: RawServer, body: [UInt8] = [1], atMost bytes: Int = 65_536) throws -> HTTPRequest {
        HTTPRequest(.POST, try HTTPAddress(server.url), body: body, maximumBytes: bytes)
    }

    static let floods: [(name: String, reply: RawServer.Reply)] = [
        ("a body", RawServer.Reply("HTTP/1.1 200 OK\r\n\r\n", endless: "x")),
        ("a chunked body", RawServer.Reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", endless: "1\r\nx\r\n")),
        ("interim answers", RawServer.Reply("", endless: "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n")),
        ("interim answers of no use", RawServer.Reply("", endless: "HTTP/1.1 100 X\r\n\r\n")),
        ("a reason", RawServer.Reply("HTTP/1.1 200 ", endless: "x")),
        ("fields", RawServer.Reply("HTTP/1.1 200 OK\r\n", endless: "x: y\r\n")),
        ("the name of a field", RawServer.Reply("HTTP/1.1 200 OK\r\n", endless: "x")),
        ("a field", RawServer.Reply("HTTP/1.1 200 OK\r\nx: ", endless: "y")), ("empty lines", RawServer.Reply("", endless: "\r\n")),
        ("no line", RawServer.Reply("", endless: "x")), ("zeros", RawServer.Reply("", endless: "\0")),
        ("a chunk's length", RawServer.Reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", endless: "0")),
        ("a chunk's extension", RawServer.Reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=", endless: "x")),
        ("trailers", RawServer.Reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", endless: "x: y\r\n")),
        ("a trailer", RawServer.Reply("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx: ", endless: "y")),
        ("answers", RawServer.Reply("HTTP/1.1 000 X\r\n", endless: "Content-Length: 0\r\n\r\nHTTP/1.1 099 X\r\n")),
    ]

    @Test(arguments: floods.indices) func `an answer without end ends at a limit`(_ index: Int) async throws {
        let (name, reply) = Self.floods[index]
        try await RawServer.with({ _ in reply }) { server in
            let client = try DirectClient(tls: nil)
            defer { client.close() }
            let error = await #expect(throws: ExchangeError.self, "\(name)") {
                try await client.send(Self.request(server), timeout: .seconds(240))
            }
            #expect([.tooLarge, .invalidAnswer].contains(error?.kind), "\(name): \(error?.description ?? "")")
        }
    }

    @Test func `what follows an answer is no answer to the next request`() async throws {
        let two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"
        try await RawServer.with({ $0 < 10 ? RawServer.Reply(two) : Self.fine }) { server in
            let client = try DirectClient(tls: nil)
            defer { client.close() }
            for _ in 0..<12 {
                let answer = try await client.send(Self.request(server), timeout: .seconds(60))
                #expect(answer.status == 200 && answer.body == Array("ok".utf8))
            }
        }
    }

    @Test func `an answer before the whole request was sent counts, and its connection is not used again`() async throws {
        // More than the buffers of the system hold.
        let body = [UInt8](repeating: 32, count: 32_000_000)
        try await RawServer.with(readsBodies: false, { _ in Self.fine }) { server in
            let client = try DirectClient(tls: nil)
            defer { client.close() }
            for _ in 0..<4 {
                #expect(try await client.send(Self.request(server, body: body), timeout: .seconds(60)).status == 200)
            }
            #expect(server.connections == 4)
        }
    }

    @Test func `fields of the request may be long`() async throws {
        try await RawServer.with({ _ in Self.fine }) { server in
            let client = try DirectClient(tls: nil)
            defer { client.close() }
            for size in [1, 1000, 8000, 65_000, 66_000, 1_000_000] {
                var request = try Self.request(server)
                request.headers = [("authorization", String(repeating: "x", count: size))]
                #expect(try await client.send(request, timeout: .seconds(60)).status == 200)
            }
        }
    }

    @Test func `answers with bytes that were changed at random are answers or failures`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        let whole = [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 X\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n",
            "HTTP/1.0 500 X\r\nRetry-After: 1\r\nDate: Tue, 31 Mar 2026 08:00:00 GMT\r\n\r\nhello",
            "HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nhello",
            "HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n",
        ].map { Array($0.utf8) }
        try await RawServer.with({ RawServer.Reply(bytes: Self.changed(whole, seed: seed &+ UInt64($0)), closes: true) }) { server in
            let client = try DirectClient(tls: nil)
            defer { client.close() }
            let request = try Self.request(server)
            for _ in 0..<3000 {
                do throws(ExchangeError) {
                    let answer = try await client.send(request, timeout: .seconds(60))
                    #expect((200...599).contains(answer.status), "seed \(seed)")
                } catch {
                    #expect(error.kind != .timedOut && error.kind != .cancelled, "seed \(seed): \(error)")
                }
            }
        }
    }

    private static func changed(_ whole: [[UInt8]], seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        var bytes = whole[Int.random(in: whole.indices, using: &generator)]
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            guard let place = bytes.indices.randomElement(using: &generator) else { return bytes }
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(contentsOf: bytes[place...], at: place)
            case 3: bytes.insert(contentsOf: Array("\r\n".utf8), at: place)
            case 4: bytes.insert(UInt8(ascii: "9"), at: place)
            default: bytes = Array(bytes[...place])
            }
        }
        return bytes
    }
}
