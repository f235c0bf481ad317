import AppStoreVerification
import HTTPServingTesting
import Ingest
import Postgres
import PrometheusTesting
import ServiceSupport
import Testing

/// `POST /apple/v1/notifications`: accepted notifications. Refused ones are in ``LegacyRefusalsTests``.
@Suite(.timeLimit(.minutes(2)))
struct LegacyNotificationsTests {
    @Test func `a notification with the app's secret is stored exactly as sent, except for the secret`() async throws {
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            func body(_ password: String) -> String {
                "\n{ \"x\": \"\\u0000 é\",\t\"notification_type\" : \"CANCEL\", \"pass\\u0077ord\" : \(password) , \"bid\":\"com.example.tides\"} \r\n"
            }
            let response = try await server.exchange(SampleLegacyNotification.post(body(#""new-secret-of-t\u0069des""#)))
            #expect(response.status == 200)
            #expect(response.body == "")
            #expect(try await server.storedBodies() == [Array(body(#""""#).utf8)])
            #expect(try await server.sources() == ["notification_v1"])
            #expect(try await server.database.query("SELECT FROM appstore.inbox_queue").count == 1)
        }
    }

    @Test(
        arguments: [
            (#""new-secret-of-tides""#, SampleLegacyNotification.app), (#""old-secret-of-tides""#, SampleLegacyNotification.app),
            (#""secret-of-dunes""#, SampleLegacyNotification.otherApp),
            // Older notifications do not name their app.
            (#""old-secret-of-tides""#, nil), (#""secret-of-dunes""#, nil), (#""secret-of-dunes""#, ""),
        ] as [(String, String?)]
    )
    func `each secret of the app is accepted, for rotation`(password: String, app: String?) async throws {
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            let body = SampleLegacyNotification.body(password: password, app: app)
            let response = try await server.exchange(SampleLegacyNotification.post(body))
            #expect(response.status == 200)
            let stored = SampleLegacyNotification.body(password: #""""#, app: app)
            #expect(try await server.storedBodies() == [Array(stored.utf8)])
        }
    }

    @Test func `a notification V2 is accepted as such, with or without configured secrets`() async throws {
        for secrets in [SharedSecrets(), SampleLegacyNotification.secrets] {
            try await RunningServer.run(secrets: secrets) { server in
                // A TEST has 5 KB, a renewal 19 KB.
                let bodies = [SampleNotification.body(1, bytes: 5000), SampleNotification.body(2, bytes: 19_000)]
                for body in bodies {
                    let response = try await server.exchange(SampleLegacyNotification.post(body))
                    #expect(response.status == 200)
                }
                let withPassword = #"{"signedPayload":"YQ.Yg.Yw","notification_type":"X","password":"new-secret-of-tides"}"#
                #expect(try await server.exchange(SampleLegacyNotification.post(withPassword)).status == 200)
                let blank = #"{"signedPayload":"YQ.Yg.Yw","notification_type":"X","password":""}"#
                #expect(try await server.storedBodies() == (bodies + [blank]).map { Array($0.utf8) })
                #expect(try await server.sources() == ["notification_v2", "notification_v2", "notification_v2"])
            }
        }
    }

    @Test(arguments: [300_000, 4_194_304], [false, true])
    func `a notification may be as large as the inbox allows`(bytes: Int, isChunked: Bool) async throws {
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            let body = SampleLegacyNotification.body(ofBytes: bytes)
            #expect(body.utf8.count == bytes)
            if isChunked {
                let fields = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
                let head = SampleNotification.head(to: SampleLegacyNotification.path, fields: fields)
                let response = try await server.exchange("\(head)\(String(bytes, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
                #expect(response.status == 200)
            } else {
                #expect(try await server.exchange(SampleLegacyNotification.post(body)).status == 200)
            }
            #expect(try await server.storedBodies() == [Array(body.replacing("new-secret-of-tides", with: "").utf8)])
        }
    }

    @Test func `large and small notifications may be pipelined, also with a query in the path`() async throws {
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            let client = try await server.connect()
            let large = SampleLegacyNotification.body(ofBytes: 4_194_304)
            let path = SampleLegacyNotification.path + "?from=apple"
            try await client.send(
                SampleNotification.post(SampleNotification.body()) + SampleLegacyNotification.post(large)
                    + SampleNotification.post(large, to: path) + SampleLegacyNotification.post(SampleLegacyNotification.body())
            )
            for _ in 1...4 { #expect(try await client.response().status == 200) }
            #expect(try await server.sources() == ["notification_v2"] + Array(repeating: "notification_v1", count: 3))
        }
    }

    @Test func `concurrent notifications share commits with those of the same kind`() async throws {
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets, committer: { $0.maximumBatchesInFlight = 1 }) { server in
            let lock = try await TableLock(server.database)
            try await withThrowingTaskGroup(of: Int.self) { clients in
                let blocking = try await server.connect()
                try await blocking.send(SampleNotification.post(SampleNotification.body(0)))
                try await server.database.awaitWaitingIngest()
                for number in 1...20 {
                    let legacy = SampleLegacyNotification.post(SampleLegacyNotification.body(number))
                    for request in [SampleNotification.post(SampleNotification.body(number)), legacy] {
                        clients.addTask { try await server.exchange(request).status }
                    }
                }
                while try server.metrics().value("appstore_inbox_ingest_waiting_events") != 40 { await Task.yield() }
                try await lock.release()
                for try await status in clients { #expect(status == 200) }
                #expect(try await blocking.response().status == 200)
            }
            let stored = try await server.database.query(
                "SELECT source || ' ' || count(*) AS line FROM appstore.inbox GROUP BY source, xmin::text ORDER BY min(event_id)"
            )
            let lines = try stored.map { try $0.decode("line", as: String.self) }
            #expect(lines.first == "notification_v2 1")
            #expect(lines.dropFirst().sorted() == ["notification_v1 20", "notification_v2 20"])
        }
    }

    @Test func `notifications are counted by route`() async throws {
        try await RunningServer.run(secrets: SampleLegacyNotification.secrets) { server in
            let bodies = [
                SampleLegacyNotification.body(), SampleLegacyNotification.body(password: #""new-secret-of-dunes""#),
                SampleLegacyNotification.body(app: "com.example.stranger"), SampleNotification.body(), "{}",
            ]
            for body in bodies { _ = try await server.exchange(SampleLegacyNotification.post(body)) }
            let metrics = try server.metrics()
            let (legacy, signed) = (["route": "/apple/v1/notifications"], ["route": "/apple/v2/notifications"])
            #expect(metrics.value("appstore_inbox_ingest_accepted_total", legacy) == 2)
            #expect(metrics.value("appstore_inbox_ingest_accepted_total", signed) == 0)
            let stored = SampleLegacyNotification.body(password: #""""#).count + SampleNotification.body().count
            #expect(metrics.value("appstore_inbox_ingest_accepted_bytes_total", legacy) == Double(stored))
            #expect(metrics.count("appstore_inbox_ingest_accept_seconds") == 2)
            for (status, reason) in [("401", "wrong-shared-secret"), ("503", "no-shared-secret"), ("400", "no-notification-type")] {
                let labels = ["listener": "notifications", "reason": reason, "status": status]
                #expect(metrics.value("appstore_inbox_http_refused_total", labels) == 1, "\(reason)")
            }
            #expect(server.registry.undescribed == [])
        }
    }
}

extension RunningServer {
    /// The source of each event, in the order of events.
    func sources() async throws -> [String] {
        try await database.query("SELECT source FROM appstore.inbox ORDER BY event_id").map { try $0.decode("source") }
    }

    func metrics() throws -> ExposedMetrics { try ExposedMetrics(registry.render()) }
}
