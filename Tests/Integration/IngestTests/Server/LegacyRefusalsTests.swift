import AppStoreVerification
import Foundation
import HTTPServing
import HTTPServingTesting
import Testing

@testable import Ingest

/// `POST /apple/v1/notifications`: refused requests, none of which is stored.
@Suite(.timeLimit(.minutes(2)))
struct LegacyRefusalsTests {
    private static let json = "Content-Type: application/json\r\n"

    @Test(
        arguments: [
            nil, #""""#, #""NEW-SECRET-OF-TIDES""#, #""new-secret-of-tide""#, #""new-secret-of-tides ""#, #""secret-of-dunes""#, "7",
            "null",
            #"["new-secret-of-tides"]"#, #"{"password":"new-secret-of-tides"}"#, #""new-secret-of-tides","password":"new-secret-of-tides""#,
            #""new-secret-of-tides","\u0070assword":1"#,
        ] as [String?]
    )
    func `a notification without a secret of the app, or with two, is unauthorized`(password: String?) async throws {
        // Two of them exceed the hourly limit: refused bodies do not count.
        let limit = SampleLegacyNotification.body().utf8.count + 1000
        try await RunningServer.run(
            secrets: SampleLegacyNotification.secrets,
            server: { ($0.limits.maximumBodyBytes, $0.legacyBodyBytes, $0.maximumBytesPerHour) = (limit, limit, limit) }
        ) { server in
            for _ in 1...2 {
                let response = try await server.exchange(SampleLegacyNotification.post(SampleLegacyNotification.body(password: password)))
                try expectProblem(response, 401, "wrong-shared-secret")
                #expect(response.headers["www-authenticate"] == #"SharedSecret realm="appstore-inbox""#)
            }
            #expect(try await server.storedBodies().isEmpty)
        }
    }

    @Test func `without a configured secret the client shall retry`() async throws {
        let app = SampleLegacyNotification.app
        let cases: [(SharedSecrets, String?)] = [
            (SharedSecrets(), app), (SharedSecrets(), nil), (SampleLegacyNotification.secrets, "com.example.stranger"),
            (SharedSecrets([app: []]), app),
        ]
        for (secrets, app) in cases {
            try await RunningServer.run(secrets: secrets) { server in
                let response = try await server.exchange(SampleLegacyNotification.post(SampleLegacyNotification.body(app: app)))
                try expectProblem(response, 503, "no-shared-secret")
                #expect(response.headers["retry-after"] == "3600")
                #expect(try await server.storedBodies().isEmpty)
            }
        }
    }

    @Test func `a body that is not a notification is refused and not stored`() async throws {
        let cases = [
            ("", "not-json"), ("rubbish", "not-json"), (#"{"notification_type":"X","password":"p""#, "not-json"),
            (#"{"notification_type":"X","password":"\ud800"}"#, "not-json"), (String(repeating: "[", count: 400_000), "not-json"),
            ("[]", "not-an-object"), ("{}", "no-notification-type"), (#"{"notification_type":1}"#, "no-notification-type"),
            (#"{"signedPayload":7}"#, "no-notification-type"), (#"{"password":"new-secret-of-tides"}"#, "no-notification-type"),
            (#"{"signedPayload":"a.b","notification_type":"X","password":"new-secret-of-tides"}"#, "not-compact-jws"),
            (#"{"signedPayload":7,"signedPayload":"a.b.c"}"#, "not-json"),
        ]
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            for (body, reason) in cases { try expectProblem(try await server.exchange(SampleLegacyNotification.post(body)), 400, reason) }
            #expect(try await server.storedBodies().isEmpty)
        }
    }

    @Test func `an invalid request is refused at its head`() async throws {
        let path = SampleLegacyNotification.path
        let body = SampleLegacyNotification.body()
        func head(_ fields: String) -> String { SampleNotification.head(to: path, fields: fields) }
        let cases = [
            ("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method-not-allowed"),
            (SampleNotification.post(body, to: path, fields: ""), 415, "unsupported-media-type"),
            (head(Self.json + "Content-Length: 4194305\r\n"), 413, "content-too-large"),
            (SampleNotification.head(fields: Self.json + "Content-Length: 300000\r\n"), 413, "content-too-large"),
        ]
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            for (request, status, reason) in cases { try expectProblem(try await server.exchange(request), status, reason) }
            #expect(try await server.exchange(cases[0].0).headers["allow"] == "POST")
            #expect(try await server.storedBodies().isEmpty)
        }
        try await RunningServer.run(
            secrets: SampleLegacyNotification.secrets,
            server: { $0.limits.requestDeadline = .seconds(2) }
        ) { server in
            let client = try await server.connect(sending: head(Self.json + "Content-Length: 4000000\r\n") + "{")
            try expectProblem(try await client.response(), 408, "request-timeout")
            #expect(try await client.untilClosed() == "")
        }
    }

    @Test func `without secrets the larger limit of notifications V1 does not apply`() async throws {
        try await RunningServer.run { server in
            let head = SampleNotification.head(to: SampleLegacyNotification.path, fields: Self.json + "Content-Length: 262145\r\n")
            try expectProblem(try await server.exchange(head), 413, "content-too-large")
        }
    }

    @Test func `each kind has its own limit`() async throws {
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            let large = try await server.exchange(SampleLegacyNotification.post(SampleNotification.body(bytes: 300_000)))
            try expectProblem(large, 413, "content-too-large")
            #expect(large.body.contains("262144"))
        }
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets, server: { $0.legacyBodyBytes = 20_000 }) { server in
            let large = try await server.exchange(SampleLegacyNotification.post(SampleLegacyNotification.body(ofBytes: 20_001)))
            try expectProblem(large, 413, "content-too-large")
            #expect(large.body.contains("20000"))
            #expect(try await server.exchange(SampleLegacyNotification.post(SampleLegacyNotification.body(ofBytes: 20_000))).status == 200)
            #expect(try await server.exchange(SampleLegacyNotification.post(SampleNotification.body(bytes: 30_000))).status == 200)
            #expect(try await server.sources() == ["notification_v1", "notification_v2"])
        }
    }

    @Test func `the limit applies to the body after its secrets are blanked`() async throws {
        // Each blanked secret is one byte longer.
        let passwords = String(repeating: #","password":1"#, count: 1000)
        let body = #"{"signedPayload":"YQ.Yg.\#(String(repeating: "A", count: 20_000))"\#(passwords)}"#
        try await RunningServer.run(server: { $0.limits.maximumBodyBytes = body.utf8.count }) { server in
            try expectProblem(try await server.exchange(SampleLegacyNotification.post(body)), 413, "content-too-large")
            #expect(try await server.storedBodies().isEmpty)
        }
    }

    @Test func `the hourly limit applies to both routes together`() async throws {
        let limits: (inout IngestServer.Configuration) -> Void = { ($0.maximumBytesPerHour, $0.legacyBodyBytes) = (300_000, 300_000) }
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets, server: limits) { server in
            let requests = [
                SampleLegacyNotification.post(SampleLegacyNotification.body(bytes: 120_000)),
                SampleNotification.post(SampleNotification.body(bytes: 120_000)),
            ]
            for request in requests { #expect(try await server.exchange(request).status == 200) }
            for request in requests {
                let response = try await server.exchange(request)
                try expectProblem(response, 503, "hourly-limit")
                #expect(response.headers["retry-after"] == "60")
            }
            #expect(try await server.storedBodies().count == 2)
        }
    }

    @Test func `an unconfirmed commit is not-committed, the next request database-unavailable`() async throws {
        let timeouts: (inout GroupCommitter.Configuration) -> Void = {
            ($0.commitTimeout, $0.probeTimeout, $0.probeDelay) = (.milliseconds(100), .seconds(60), .seconds(60) ... .seconds(60))
        }
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets, committer: timeouts) { server in
            let lock = try await TableLock(server.database)
            let request = SampleLegacyNotification.post(SampleLegacyNotification.body())
            try expectProblem(try await server.exchange(request), 503, "not-committed")
            try expectProblem(try await server.exchange(request), 503, "database-unavailable")
            try await lock.release()
        }
    }

    @Test func `a request that is incomplete at shutdown is answered`() async throws {
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            let lock = try await TableLock(server.database)
            let (idle, busy, late) = (try await server.connect(), try await server.connect(), try await server.connect())
            try await idle.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await idle.response().status == 200)
            let request = SampleLegacyNotification.post(SampleLegacyNotification.body())
            try await busy.send(request)
            try await server.database.awaitWaitingIngest()
            try await late.send(String(request.prefix(5)))
            // Each event loop has read from a newer connection, and therefore from this one.
            for _ in 1...2 * ProcessInfo.processInfo.activeProcessorCount {
                #expect(try await server.exchange("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").status == 200)
            }
            await server.shutDown()
            #expect(try await idle.untilClosed() == "")
            try await late.send(String(request.dropFirst(5)))
            try await lock.release()
            for client in [busy, late] { #expect(try await client.response().status == 200) }
            #expect(try await server.storedBodies().count == 2)
        }
    }
}
