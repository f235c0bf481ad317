import HTTPServingTesting
import Logging
import NIOPosix
import PrometheusTesting
import ServiceLifecycle
import ServiceSupport
import Synchronization
import Testing

@testable import HTTPServing

@Suite(.timeLimit(.minutes(1)))
struct AdminServerTests {
    private let registry = MetricRegistry([
        MetricDescription("appstore_inbox_http_connections", .gauge, "x"),
        MetricDescription("appstore_inbox_http_refused_total", .counter, "x"),
    ])
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func get(_ path: String, _ port: Int) async throws -> RawResponse {
        let client = try await RawClient.connect(port: port, sending: "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
        let response = try await client.response()
        client.close()
        return response
    }

    /// Runs a server while `body` runs with its port.
    private func serve(
        _ checkReadiness: @escaping @Sendable () async throws(Problem) -> Void,
        _ body: (Int) async throws -> Void
    ) async throws {
        let (ports, bound) = AsyncStream.makeStream(of: Int.self)
        let server = AdminServer(
            listen: .tcp(host: "127.0.0.1", port: 0),
            registry: registry,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger,
            checkReadiness: checkReadiness
        ) { bound.yield($0 ?? 0) }
        let group = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask {
                defer { bound.finish() }
                try await group.run()
            }
            for await port in ports {
                try await body(port)
                break
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    @Test func `the server serves liveness, readiness and metrics only`() async throws {
        let isReady = Flag()
        try await serve({ () throws(Problem) in if !isReady.value { throw .databaseUnavailable(retryAfter: 5) } }) { port in
            #expect(try await get("/livez", port).body == "alive\n")
            #expect(try await get("/readyz", port).status == 503)
            isReady.value = true
            #expect(try await get("/readyz", port).body == "ready\n")
            #expect(try await get("/apple/v2/notifications", port).status == 404)
            let metrics = try await get("/metrics", port)
            #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let refused = try ExposedMetrics(metrics.body).families["appstore_inbox_http_refused_total"]?.samples ?? []
            let labels = refused.map { [$0.labels["listener"], $0.labels["reason"], $0.labels["status"]] }
            #expect(labels == [["admin", "database-unavailable", "503"], ["admin", "not-found", "404"]])
        }
    }

    @Test func `an address in use is a clear error`() async throws {
        try await serve({ () throws(Problem) in }) { port in
            let second = AdminServer(
                listen: .tcp(host: "127.0.0.1", port: UInt16(port)),
                registry: registry,
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                logger: logger,
                checkReadiness: { () throws(Problem) in }
            ) { _ in }
            let error = await #expect(throws: ServerError.self) { try await second.run() }
            #expect(error?.code == .cannotListen)
            #expect(error?.message == "cannot listen at 127.0.0.1:\(port): the address is taken, by another process or another listener")
        }
    }
}

private final class Flag: Sendable {
    private let state = Mutex(false)

    var value: Bool {
        get { state.withLock(\.self) }
        set { state.withLock { $0 = newValue } }
    }
}
