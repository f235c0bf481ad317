import Foundation
import GroupCommit
import HTTPServing
import HTTPServingTesting
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(2)))
struct RefusalsTests {
    private static let json = "Content-Type: application/json\r\n"

    private func expectProblem(_ response: RawResponse, _ status: Int, _ reason: String) throws {
        #expect(response.status == status)
        #expect(response.headers["content-type"] == "application/problem+json")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(response.body.utf8)) as? [String: Any])
        #expect(object["type"] as? String == "urn:appstore-inbox:problem:\(reason)")
        #expect(object["status"] as? Int == status)
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

    @Test func `a slow request gets 408 and its connection is closed`() async throws {
        try await RunningServer.run(server: { $0.limits.requestDeadline = .seconds(2) }) { server in
            for beginning in ["P", SampleNotification.head(fields: Self.json + "Content-Length: 5\r\n") + "x"] {
                let client = try await server.connect(sending: beginning)
                try expectProblem(try await client.response(), 408, "request-timeout")
                #expect(try await client.untilClosed() == "")
            }
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

    @Test func `bytes above the hourly limit are refused`() async throws {
        try await RunningServer.run(server: { ($0.maximumBytesPerHour, $0.legacyBodyBytes) = (300_000, 300_000) }) { server in
            let request = SampleNotification.post(SampleNotification.body(0, bytes: 200_000))
            #expect(try await server.exchange(request).status == 200)
            let response = try await server.exchange(request)
            try expectProblem(response, 503, "hourly-limit")
            #expect(response.headers["retry-after"] == "60")
            #expect(try await server.storedBodies().count == 1)
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
