import NIOHTTP1
import StoreSimulator
import Synchronization

/// A simulated OCSP responder on the loopback interface: an HTTP server that answers as a closure says.
package final class ResponderServer: Sendable {
    package struct Request: Sendable {
        package let path: String
        package let contentType: String?
        package let body: [UInt8]
    }

    package struct Answer: Sendable {
        package var status: Int
        package var body: [UInt8]

        package init(_ status: Int = 200, _ body: [UInt8] = []) {
            (self.status, self.body) = (status, body)
        }
    }

    /// Nil leaves a request without an answer.
    package typealias Respond = @Sendable (Request) -> Answer?

    private let respond = Mutex<Respond>({ _ in nil })
    private let requests = Mutex<[Request]>([])
    private let hosts = SimulatedHosts<String>()
    private static let host = "responder"

    package static func start() async throws -> ResponderServer {
        let server = ResponderServer()
        try await server.hosts.listen(as: host, port: 0, nil) { head, body in
            (server.reply(to: Request(path: head.uri, contentType: head.headers.first(name: "content-type"), body: body)), {})
        }
        return server
    }

    /// Stops listening, and closes all connections.
    package func stop() { hosts.close() }

    package var url: String { "http://127.0.0.1:\(hosts.port(of: Self.host) ?? 0)" }

    /// All requests so far.
    package var received: [Request] { requests.withLock { $0 } }

    /// How requests are answered from now on.
    package func answer(_ respond: @escaping Respond) {
        self.respond.withLock { $0 = respond }
    }

    private func reply(to request: Request) -> SimulatedReply {
        requests.withLock { $0.append(request) }
        guard let answer = respond.withLock({ $0 })(request) else { return .never }
        var reply = SimulatedReply(status: answer.status)
        reply.body = answer.body
        if answer.status == 302 { reply.headers = [SimulatedReply.Header(name: "location", value: "\(url)/elsewhere")] }
        return reply
    }
}
