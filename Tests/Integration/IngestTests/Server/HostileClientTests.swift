import HTTPServing
import HTTPServingTesting
import PrometheusTesting
import Testing

@testable import Ingest

/// Clients that hold connections, memory or answers, while others post notifications.
@Suite(.timeLimit(.minutes(2)))
struct HostileClientTests {
    private func post(_ count: Int, to server: RunningServer) async throws {
        try await withThrowingTaskGroup { clients in
            for number in 1...count {
                clients.addTask {
                    try await server.exchange(SampleNotification.post(SampleNotification.body(number))).status
                }
            }
            for try await status in clients { #expect(status == 200) }
        }
    }

    @Test(arguments: [0, 1])
    func `clients that announce bodies and send next to nothing take no memory from others`(bytes: Int) async throws {
        try await RunningServer.run { server in
            let fields = "Content-Type: application/json\r\nContent-Length: 262144\r\n"
            var silent: [RawClient] = []
            for _ in 1...260 {
                let head = SampleNotification.head(fields: fields) + String(repeating: "{", count: bytes)
                silent.append(try await server.connect(sending: head))
            }
            try await post(250, to: server)
            for client in silent { client.close() }
        }
    }

    @Test func `clients that send most of large bodies and stop take no memory from bodies of usual size`() async throws {
        // 64 connections have 64 KiB each, and share 4 MiB.
        try await RunningServer.run(
            server: { ($0.limits.maximumBytesInMemory, $0.limits.maximumConnections) = (8 << 20, 64) },
            { server in
                let fields = "Content-Type: application/json\r\nContent-Length: 262144\r\n"
                let head = SampleNotification.head(fields: fields) + String(repeating: "{", count: 262_143)
                var slow: [RawClient] = []
                for _ in 1...40 { slow.append(try await server.connect(sending: head)) }
                while try server.metrics().value("appstore_inbox_ingest_reserved_bytes") ?? 0 < 5_000_000 { await Task.yield() }
                try await post(50, to: server)
                for client in slow { client.close() }
            }
        )
    }

    @Test func `a client that pipelines requests and reads no answer is stopped, and others are served`() async throws {
        let count = 40_000
        // So few fit into one read that they are not too many to buffer.
        let request = "GET /none HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "x", count: 2000))\r\n\r\n"
        let requests = String(repeating: request, count: 20)
        try await RunningServer.run(
            server: { ($0.limits.answerTimeout, $0.limits.idleTimeout) = (.seconds(2), .seconds(10)) },
            { server in
                try await withThrowingTaskGroup { clients in
                    for _ in 1...2 {
                        clients.addTask {
                            let client = try await RawClient.connect(port: server.port, readsAnswers: false)
                            await #expect(throws: (any Error).self, "the server disconnects") {
                                for _ in 1...(count / 20) { try await client.send(requests) }
                            }
                            client.close()
                        }
                    }
                    try await post(20, to: server)
                    try await clients.waitForAll()
                }
                let refusal = ["listener": "notifications", "reason": "not-found", "status": "404"]
                let produced = try server.metrics().value("appstore_inbox_http_refused_total", refusal) ?? 0
                #expect(produced > 0 && produced < Double(2 * count), "bounded by the buffers of the operating system")
                try await post(1, to: server)
            }
        )
    }
}
