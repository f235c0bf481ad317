package import AppStore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import StoreSimulator
import Synchronization

/// The make-believe verifyReceipt on this machine: a port for each of its two hosts.
package final class VerifyReceiptServer: Sendable {
    /// How the server is to be.
    package struct Configuration: Sendable {
        /// Where the hosts listen; 0, or none, takes any port.
        package var ports: [SimulatedReceiptHost: Int] = [:]
        /// What it shows to callers over TLS; nil speaks HTTP without.
        package var identity: SimulatedHostIdentity?
        /// Whether it speaks no TLS that is newer than 1.1.
        package var isOutdated = false
        /// What is written into answers as the time of the question.
        package var now: @Sendable () -> Timestamp

        package init(now: @escaping @Sendable () -> Timestamp) {
            self.now = now
        }
    }

    private struct State {
        var store: SimulatedReceiptStore
        var asked: [VerifyReceiptQuestion] = []
        /// Answers that wait for somebody who releases them.
        var held: [@Sendable () -> Void] = []
        var clients: [ObjectIdentifier: any Channel] = [:]
    }

    private let state: Mutex<State>
    private let configuration: Configuration
    private let listeners = Mutex<[SimulatedReceiptHost: any Channel]>([:])
    private let continuation: AsyncStream<VerifyReceiptQuestion>.Continuation
    /// Questions as they come; for one reader. Of those that nobody has read, the newest are kept.
    package let questions: AsyncStream<VerifyReceiptQuestion>

    private init(_ store: SimulatedReceiptStore, _ configuration: Configuration) {
        state = Mutex(State(store: store))
        self.configuration = configuration
        (questions, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1000))
    }

    /// Starts a server that listens to this machine only.
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

    /// Lends a server for the length of `body`.
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

    /// Ends all connections, answered or not.
    package func stop() async {
        let open = listeners.withLock { Array($0.values) } + state.withLock { Array($0.clients.values) }
        for channel in open { channel.close(promise: nil) }
        // Those that were closed before are just as well.
        for channel in open { await channel.closeFuture.whenDone() }
        continuation.finish()
    }

    /// Where a host is to be asked; nil when the server has stopped.
    package func address(of host: SimulatedReceiptHost) -> String? {
        let port = listeners.withLock { $0[host]?.localAddress?.port }
        return port.map { "\(configuration.identity == nil ? "http" : "https")://localhost:\($0)/verifyReceipt" }
    }

    /// All questions so far, in the order in which they came.
    package var asked: [VerifyReceiptQuestion] { state.withLock(\.asked) }

    /// Lets go of all answers that wait for it.
    package func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for answer in held { answer() }
    }

    /// Changes what the server knows.
    package func change(_ change: (inout SimulatedReceiptStore) -> Void) {
        state.withLock { change(&$0.store) }
    }

    /// Takes a question and says what is to be answered.
    func reply(to body: [UInt8], isPosted: Bool, at host: SimulatedReceiptHost) -> VerifyReceiptReply {
        let question = VerifyReceiptQuestion(body: body, at: host)
        let now = configuration.now()
        let reply = state.withLock { state in
            state.asked.append(question)
            return state.store.reply(to: question, isPosted: isPosted, at: now)
        }
        continuation.yield(question)
        return reply
    }

    /// Keeps an answer until it is released.
    func hold(_ answer: @escaping @Sendable () -> Void) {
        state.withLock { $0.held.append(answer) }
    }

    private func listen(_ host: SimulatedReceiptHost) async throws -> any Channel {
        let context = try configuration.identity.map { try Self.context($0, isOutdated: configuration.isOutdated) }
        return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                self.welcome(channel)
                return channel.eventLoop.makeCompletedFuture {
                    if let context { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
                    try channel.pipeline.syncOperations.addHandler(VerifyReceiptHandler(server: self, host: host))
                }
            }
            .bind(host: "127.0.0.1", port: configuration.ports[host] ?? 0).get()
    }

    private func welcome(_ channel: any Channel) {
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
    /// Waits for the end, whichever it is.
    fileprivate func whenDone() async {
        await withCheckedContinuation { continuation in whenComplete { _ in continuation.resume() } }
    }
}
