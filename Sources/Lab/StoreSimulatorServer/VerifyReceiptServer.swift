package import AppStore
import NIOHTTP1
package import StoreSimulator
import Synchronization

/// A simulated verifyReceipt on the loopback interface, with a port for each of its two hosts.
package final class VerifyReceiptServer: Sendable {
    /// How the server behaves.
    package struct Configuration: Sendable {
        /// The port of each host; 0 or none takes a free port.
        package var ports: [SimulatedReceiptHost: Int] = [:]
        /// The certificate for TLS; nil serves plain HTTP.
        package var identity: SimulatedHostIdentity?
        /// Whether it supports TLS 1.0 and 1.1 only.
        package var isOutdated = false
        /// The time of a request, as answers state it.
        package var now: @Sendable () -> Timestamp

        package init(now: @escaping @Sendable () -> Timestamp) {
            self.now = now
        }
    }

    private struct State {
        var store: SimulatedReceiptStore
        var received: [VerifyReceiptRequest] = []
    }

    private let state: Mutex<State>
    private let configuration: Configuration
    private let hosts = SimulatedHosts<SimulatedReceiptHost>()
    private let continuation: AsyncStream<VerifyReceiptRequest>.Continuation
    /// Requests as they arrive, for one consumer. Of unread requests, the newest 1000 are kept.
    package let requests: AsyncStream<VerifyReceiptRequest>

    private init(_ store: SimulatedReceiptStore, _ configuration: Configuration) {
        state = Mutex(State(store: store))
        self.configuration = configuration
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1000))
    }

    /// Starts a server on the loopback interface.
    package static func start(_ store: SimulatedReceiptStore, _ configuration: Configuration) async throws -> VerifyReceiptServer {
        let server = VerifyReceiptServer(store, configuration)
        do {
            let identity = configuration.identity
            for host in SimulatedReceiptHost.allCases {
                let port = configuration.ports[host] ?? 0
                try await server.hosts.listen(as: host, port: port, identity, isOutdated: configuration.isOutdated) { head, body in
                    server.reply(to: body, isPosted: head.method == .POST, at: host)
                }
            }
        } catch {
            await server.stop()
            throw error
        }
        return server
    }

    /// Runs `body` with a server, which is stopped afterwards.
    package static func with<T: Sendable>(
        _ store: SimulatedReceiptStore,
        _ configuration: Configuration,
        _ body: (VerifyReceiptServer) async throws -> T
    ) async throws -> T {
        let server = try await start(store, configuration)
        defer { server.continuation.finish() }
        return try await server.hosts.whileServing { try await body(server) }
    }

    /// Stops the server and closes all connections, answered or not.
    package func stop() async {
        await hosts.stop()
        continuation.finish()
    }

    /// The URL of a host; nil when the server has stopped.
    package func address(of host: SimulatedReceiptHost) -> String? {
        hosts.port(of: host).map { "\(configuration.identity == nil ? "http" : "https")://localhost:\($0)/verifyReceipt" }
    }

    /// All requests so far, in the order of their arrival.
    package var received: [VerifyReceiptRequest] { state.withLock(\.received) }

    /// Sends all held answers.
    package func release() { hosts.release() }

    /// Changes the store that the server answers from.
    package func change(_ change: (inout SimulatedReceiptStore) -> Void) {
        state.withLock { change(&$0.store) }
    }

    /// Records a request and returns the reply, and what is done when it is sent.
    private func reply(to body: [UInt8], isPosted: Bool, at host: SimulatedReceiptHost) -> (
        reply: SimulatedReply, then: @Sendable () -> Void
    ) {
        let request = VerifyReceiptRequest(body: body, at: host)
        let now = configuration.now()
        let reply = state.withLock { state in
            state.received.append(request)
            return state.store.reply(to: request, isPosted: isPosted, at: now)
        }
        return (reply, { self.continuation.yield(request) })
    }
}
