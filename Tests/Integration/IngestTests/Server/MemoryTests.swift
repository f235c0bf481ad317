import HTTPServing
import HTTPServingTesting
import PrometheusTesting
import Testing

@testable import Ingest

/// Slow bodies and the memory limit. A notification V1 may have 1 MiB here, all requests together 4 MiB: 32 connections have 64 KiB each, and
/// share the other half.
@Suite(.timeLimit(.minutes(2)))
struct MemoryTests {
    private static let step = 64 * 1024
    private static let largest = 1 << 20

    private func run(_ body: (RunningServer) async throws -> Void) async throws {
        try await RunningServer.run(
            secrets: SampleLegacyNotification.secrets,
            server: {
                ($0.legacyBodyBytes, $0.limits.maximumBytesInMemory, $0.limits.maximumConnections) = (Self.largest, 4 * Self.largest, 32)
            },
            body
        )
    }

    /// A client whose head is admitted: the server answered 100 (Continue).
    private func begin(_ fields: String, _ server: RunningServer) async throws -> RawClient {
        let client = try await server.connect()
        let fields = "Content-Type: application/json\r\nExpect: 100-continue\r\n\(fields)\r\n"
        try await client.send(SampleNotification.head(to: SampleLegacyNotification.path, fields: fields))
        #expect(try await client.response().status == 100)
        return client
    }

    private func reserved(_ bytes: Int, _ server: RunningServer) async throws {
        while try server.metrics().value("appstore_inbox_ingest_reserved_bytes") != Double(bytes) { await Task.yield() }
    }

    private func expectBusy(_ client: RawClient) async throws {
        let response = try await client.response()
        #expect(response.status == 503 && response.body.contains("urn:appstore-inbox:problem:too-many-bytes"))
        #expect(response.headers["connection"] == "close" && response.headers["retry-after"] == "1")
    }

    @Test(arguments: ["Transfer-Encoding: chunked", "Content-Length: 1048576"])
    func `heads of large bodies reserve no memory`(fields: String) async throws {
        try await run { server in
            var clients: [RawClient] = []
            for _ in 1...31 { clients.append(try await begin(fields, server)) }
            try await reserved(0, server)
            #expect(try await server.exchange(SampleNotification.post(SampleNotification.body())).status == 200)
            for client in clients { client.close() }
        }
    }

    @Test func `incomplete bodies leave each connection its share, and one of them is received`() async throws {
        try await run { server in
            let body = SampleLegacyNotification.body(ofBytes: Self.largest)
            let part = 4 * Self.step
            var clients: [RawClient] = []
            for _ in 1...11 {
                let client = try await begin("Content-Length: \(body.utf8.count)", server)
                try await client.send(String(body.prefix(part)))
                clients.append(client)
                if clients.count <= 10 { try await reserved(clients.count * part, server) } else { try await expectBusy(client) }
            }
            for number in 1...4 {
                #expect(try await server.exchange(SampleNotification.post(SampleNotification.body(number))).status == 200)
            }
            try await reserved(10 * part, server)

            // It is refused and releases its memory.
            try await clients[0].send(String(repeating: " ", count: 1))
            try await expectBusy(clients[0])
            try await reserved(9 * part, server)
            try await clients[1].send(String(body.dropFirst(part).prefix(part)))
            try await reserved(10 * part, server)
            for client in clients.dropFirst(2) { client.close() }
            try await reserved(2 * part, server)
            try await clients[1].send(String(body.dropFirst(2 * part)))
            #expect(try await clients[1].response().status == 200)
            try await reserved(0, server)
            #expect(try await server.sources() == Array(repeating: "notification_v2", count: 4) + ["notification_v1"])
            for client in clients { client.close() }
        }
    }
}
