import NIOCore
import NIOEmbedded
import PrometheusTesting
import ServiceSupport
import Testing

@testable import HTTPServing

@Suite struct ConnectionCountTests {
    @Test func `a connection is counted from open to close, however it is closed`() throws {
        let registry = MetricRegistry([
            MetricDescription("appstore_inbox_http_connections", .gauge, "x"),
            MetricDescription("appstore_inbox_http_refused_total", .counter, "x"),
        ])
        func open() throws -> Double? {
            try ExposedMetrics(registry.render()).value("appstore_inbox_http_connections", ["listener": "test"])
        }
        let connections = try (0..<3).map { _ in try EmbeddedConnection(metrics: ListenerMetrics(listener: "test", factory: registry)) }
        #expect(try open() == 3)
        try connections[0].channel.close().wait()
        connections[0].channel.embeddedEventLoop.run()
        #expect(try open() == 2)
        try connections[1].send("no HTTP\r\n\r\n")
        _ = try connections[1].channel.finish(acceptAlreadyClosed: true)
        _ = try connections[2].channel.finish(acceptAlreadyClosed: true)
        #expect(try open() == 0)
        #expect(try ExposedMetrics(registry.render()).families["appstore_inbox_http_refused_total"]?.samples.map(\.value) == [1])
    }
}
