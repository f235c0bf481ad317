import HTTPServing
import HTTPServingTesting
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(2)))
struct RefusalsTests {
    private static let json = "Content-Type: application/json\r\n"

    @Test func `the reasons of notification endpoints are unique`() {
        let problems: [Problem] = [
            .noSignedPayload, .notCompactJWS, .noNotificationType, .wrongSharedSecret, .noSharedSecret, .queueFull(retryAfter: 1),
            .notCommitted(retryAfter: 3),
        ]
        #expect(Set(problems.map(\.reason)).count == problems.count)
    }

    @Test func `a body that is not a notification is refused and not stored`() async throws {
        let cases = [
            ("", "not-json"), ("rubbish", "not-json"), (#"{"signedPayload":"a.b.c""#, "not-json"),
            (#"{"signedPayload":"a.b.c"} x"#, "not-json"),
            ("[]", "not-an-object"), ("{}", "no-signed-payload"), (#"{"signedpayload":"a.b.c"}"#, "no-signed-payload"),
            (#"{"signedPayload":7}"#, "no-signed-payload"), (#"{"signedPayload":null}"#, "no-signed-payload"),
            (#"{"signedPayload":""}"#, "not-compact-jws"), (#"{"signedPayload":"a.b"}"#, "not-compact-jws"),
            (#"{"signedPayload":"a.b.c.d"}"#, "not-compact-jws"), (#"{"signedPayload":"a..c"}"#, "not-compact-jws"),
            (#"{"signedPayload":"a.b+.c"}"#, "not-compact-jws"), (String(repeating: "[", count: 200_000), "not-json"),
        ]
        try await RunningServer.run { server in
            for (body, reason) in cases {
                let response = try await server.exchange(SampleNotification.post(body))
                try expectProblem(response, 400, reason)
                #expect(body.count < 4 || !response.body.contains(body))
            }
            #expect(try await server.storedBodies().isEmpty)
        }
    }

    @Test func `an invalid request is refused at its head`() async throws {
        let body = SampleNotification.body()
        let cases = [
            ("GET /apple/v2/notifications HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method-not-allowed"),
            ("DELETE /livez HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method-not-allowed"),
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not-found"),
            ("GET /apple/v2/notifications/ HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not-found"),
            ("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not-found"),
            (SampleNotification.post(body, fields: ""), 415, "unsupported-media-type"),
            (SampleNotification.post(body, fields: "Content-Type: text/plain\r\n"), 415, "unsupported-media-type"),
            (SampleNotification.post(body, fields: Self.json + "Content-Encoding: gzip\r\n"), 415, "content-encoding-refused"),
            (SampleNotification.head(fields: Self.json), 411, "length-required"),
            (SampleNotification.head(fields: Self.json + "Content-Length: 5\r\nExpect: tea\r\n"), 417, "expectation-failed"),
            (SampleNotification.head(fields: Self.json + "Transfer-Encoding: gzip, chunked\r\n"), 501, "transfer-coding-unknown"),
            (SampleNotification.head(fields: Self.json + "Content-Length: 300000\r\n"), 413, "content-too-large"),
            (SampleNotification.head(fields: Self.json + "X: \(String(repeating: "x", count: 20000))\r\n"), 431, "head-too-large"),
            ("rubbish\r\n\r\n", 400, "malformed-request"),
            ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}", 400, "malformed-request"),
        ]
        try await RunningServer.run { server in
            for (request, status, reason) in cases { try expectProblem(try await server.exchange(request), status, reason) }
            #expect(try await server.exchange(cases[0].0).headers["allow"] == "POST")
            #expect(try await server.exchange(cases[1].0).headers["allow"] == "GET, HEAD")
            #expect(try await server.storedBodies().isEmpty)
        }
    }

    @Test func `media type parameters and identity coding are accepted`() async throws {
        try await RunningServer.run { server in
            for fields in ["content-type: Application/JSON ; charset=UTF-8\r\n", Self.json + "Content-Encoding: identity\r\n"] {
                let response = try await server.exchange(SampleNotification.post(SampleNotification.body(), fields: fields))
                #expect(response.status == 200)
            }
        }
    }

    @Test(arguments: [
        "application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON", "application/json; charset=iso-8859-1",
    ])
    func `every form of application/json is accepted`(mediaType: String) async throws {
        try await RunningServer.run { server in
            let request = SampleNotification.post(SampleNotification.body(), fields: "Content-Type: \(mediaType)\r\n")
            let response = try await server.exchange(request)
            #expect(response.status == 200)
        }
    }

    @Test(arguments: [
        "text/json", "text/plain; charset=utf-8", "application/octet-stream", "application/x-www-form-urlencoded", "application/jose",
        "application/vnd.api+json", "",
    ])
    func `every other media type is refused`(mediaType: String) async throws {
        try await RunningServer.run { server in
            let request = SampleNotification.post(SampleNotification.body(), fields: "Content-Type: \(mediaType)\r\n")
            try expectProblem(try await server.exchange(request), 415, "unsupported-media-type")
        }
    }

    @Test func `a query, other members and white space around the body are accepted`() async throws {
        try await RunningServer.run { server in
            let body = SampleNotification.body()
            for request in [
                SampleNotification.post(body, to: "/apple/v2/notifications?token=abc"), SampleNotification.post(body + "\r\n"),
                SampleNotification.post("{\n  \"extra\": {\"a\": [1]},\n  " + body.dropFirst()),
            ] {
                let response = try await server.exchange(request)
                #expect(response.status == 200)
            }
        }
    }

    @Test func `a body in an envelope, in another encoding or with a changed JWS is refused`() async throws {
        let body = SampleNotification.body()
        let jws = String(body.dropFirst(#"{"signedPayload":""#.count).dropLast(2))
        let cases: [(String, String)] = [
            ("\u{FEFF}" + body, "not-json"), (body + "\0", "not-json"), (String(body.dropLast()) + "," + body.dropFirst(), "not-json"),
            (#""\#(body.replacing("\"", with: "\\\""))""#, "not-an-object"), ("[\(body)]", "not-an-object"),
            (#"{"body":"\#(body.replacing("\"", with: "\\\""))"}"#, "no-signed-payload"),
            (#"{"signedPayload":"\#(jws)\n"}"#, "not-compact-jws"),
            (#"{"signedPayload":" \#(jws)"}"#, "not-compact-jws"), (#"{"signedPayload":"\#(jws)=="}"#, "not-compact-jws"),
        ]
        try await RunningServer.run { server in
            for (text, reason) in cases { try expectProblem(try await server.exchange(SampleNotification.post(text)), 400, reason) }
            let client = try await server.connect()
            let wide = body.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
            try await client.send(SampleNotification.head(fields: Self.json + "Content-Length: \(wide.count)\r\n"))
            try await client.send(wide)
            try expectProblem(try await client.response(), 400, "not-json")
            client.close()
            #expect(try await server.storedBodies().isEmpty)
        }
    }

    @Test func `only POST to the exact path is a notification`() async throws {
        let body = SampleNotification.body()
        try await RunningServer.run { server in
            for path in ["/apple/v2/notifications/", "//apple/v2/notifications", "/Apple/V2/Notifications", "/apple/v2", "/favicon.ico"] {
                try expectProblem(try await server.exchange(SampleNotification.post(body, to: path)), 404, "not-found")
            }
            for method in ["HEAD", "OPTIONS", "PUT"] {
                let request = SampleNotification.post(body).replacing("POST", with: method, maxReplacements: 1)
                #expect(try await server.exchange(request).status == 405, "\(method)")
            }
            let deflated = SampleNotification.post(body, fields: Self.json + "Content-Encoding: deflate\r\n")
            try expectProblem(try await server.exchange(deflated), 415, "content-encoding-refused")
            #expect(try await server.storedBodies().isEmpty)
        }
    }

    @Test func `an oversize body that is sent anyway does not destroy the answer`() async throws {
        try await RunningServer.run { server in
            let client = try await server.connect()
            try await client.send(SampleNotification.post(SampleNotification.body(0, bytes: 2_000_000)))
            try expectProblem(try await client.response(), 413, "content-too-large")
            client.close()
        }
    }

    @Test func `a full queue refuses further requests and keeps accepted ones`() async throws {
        try await RunningServer.run(committer: { ($0.maximumBatchesInFlight, $0.maximumWaitingEvents) = (1, 1) }) { server in
            let lock = try await TableLock(server.database)
            let request = SampleNotification.post(SampleNotification.body())
            let first = try await server.connect()
            try await first.send(request)
            try await server.database.awaitWaitingIngest()
            try await withThrowingTaskGroup(of: RawResponse.self) { clients in
                for _ in 1...10 { clients.addTask { try await server.exchange(request) } }
                for _ in 1...9 { try expectProblem(try #require(try await clients.next()), 503, "queue-full") }
                try await lock.release()
                #expect(try await clients.next()?.status == 200)
            }
            #expect(try await first.response().status == 200)
            #expect(try await server.storedBodies().count == 2)
        }
    }
}
