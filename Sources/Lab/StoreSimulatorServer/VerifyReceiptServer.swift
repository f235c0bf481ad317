package import AppStore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
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
        /// Answers that wait to be released.
        var held: [@Sendable () -> Void] = []
        var clients: [ObjectIdentifier: any Channel] = [:]
    }

    private let state: Mutex<State>
    private let configuration: Configuration
    private let listeners = Mutex<[SimulatedReceiptHost: any Channel]>([:])
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
            for host in SimulatedReceiptHost.allCases {
                let listener = try await server.listen(host)
                server.listeners.withLock { $0[host] = listener }
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
        let value: T
        do {
            value = try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        return value
    }

    /// Stops the server and closes all connections, answered or not.
    package func stop() async {
        let open = listeners.withLock { Array($0.values) } + state.withLock { Array($0.clients.values) }
        for channel in open { channel.close(promise: nil) }
        for channel in open { await channel.closeFuture.whenDone() }
        continuation.finish()
    }

    /// The URL of a host; nil when the server has stopped.
    package func address(of host: SimulatedReceiptHost) -> String? {
        let port = listeners.withLock { $0[host]?.localAddress?.port }
        return port.map { "\(configuration.identity == nil ? "http" : "https")://localhost:\($0)/verifyReceipt" }
    }

    /// All requests so far, in the order of their arrival.
    package var received: [VerifyReceiptRequest] { state.withLock(\.received) }

    /// Sends all held answers.
    package func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for answer in held { answer() }
    }

    /// Changes the store that the server answers from.
    package func change(_ change: (inout SimulatedReceiptStore) -> Void) {
        state.withLock { change(&$0.store) }
    }

    /// Records a request and returns the reply.
    func reply(to body: [UInt8], isPosted: Bool, at host: SimulatedReceiptHost) -> VerifyReceiptReply {
        let request = VerifyReceiptRequest(body: body, at: host)
        let now = configuration.now()
        let reply = state.withLock { state in
            state.received.append(request)
            return state.store.reply(to: request, isPosted: isPosted, at: now)
        }
        continuation.yield(request)
        return reply
    }

    /// Keeps an answer until ``release()``.
    func hold(_ answer: @escaping @Sendable () -> Void) {
        state.withLock { $0.held.append(answer) }
    }

    private func listen(_ host: SimulatedReceiptHost) async throws -> any Channel {
        let context = try configuration.identity.map { try Self.context($0, isOutdated: configuration.isOutdated) }
        return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                self.track(channel)
                return channel.eventLoop.makeCompletedFuture {
                    if let context { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
                    try channel.pipeline.syncOperations.addHandler(VerifyReceiptHandler(server: self, host: host))
                }
            }
            .bind(host: "127.0.0.1", port: configuration.ports[host] ?? 0).get()
    }

    private func track(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        state.withLock { $0.clients[id] = channel }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.clients[id] = nil } }
    }

    private static func context(_ identity: SimulatedHostIdentity, isOutdated: Bool) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8))
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
        )
        if isOutdated { (tls.minimumTLSVersion, tls.maximumTLSVersion) = (.tlsv1, .tlsv11) }
        return try NIOSSLContext(configuration: tls)
    }
}

extension EventLoopFuture<Void> {
    /// Waits for completion and ignores the result.
    fileprivate func whenDone() async {
        await withCheckedContinuation { continuation in whenComplete { _ in continuation.resume() } }
    }
}
