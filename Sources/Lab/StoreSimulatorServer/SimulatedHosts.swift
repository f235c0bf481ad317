import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import StoreSimulator
import Synchronization

/// The HTTP servers of simulated hosts on the loopback interface, each with a port of its own.
final class SimulatedHosts<Host: Hashable & Sendable>: Sendable {
    private struct State {
        var listeners: [Host: any Channel] = [:]
        var clients: [ObjectIdentifier: any Channel] = [:]
        /// Answers that wait to be released.
        var held: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Starts the server of a host.
    ///
    /// - Parameters:
    ///   - port: the port; 0 takes a free one.
    ///   - identity: the certificate for TLS; nil serves plain HTTP.
    ///   - isOutdated: whether it supports TLS 1.0 and 1.1 only.
    func listen(
        as host: Host,
        port: Int,
        _ identity: SimulatedHostIdentity?,
        isOutdated: Bool = false,
        respond: @escaping SimulatedHostHandler.Respond
    ) async throws {
        SimulatedHTTP.codec
        let context = try identity.map { try Self.context($0, isOutdated: isOutdated) }
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                self.track(channel)
                return channel.eventLoop.makeCompletedFuture {
                    if let context { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
                    let handler = SimulatedHostHandler(respond: respond) { answer in self.state.withLock { $0.held.append(answer) } }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        state.withLock { $0.listeners[host] = listener }
    }

    /// Stops the servers and closes all connections, answered or not.
    func stop() async {
        for channel in close() { await channel.closeFuture.whenDone() }
    }

    /// Begins to stop the servers; returns what is being closed.
    @discardableResult
    func close() -> [any Channel] {
        let open = state.withLock { Array($0.listeners.values) + Array($0.clients.values) }
        for channel in open { channel.close(promise: nil) }
        return open
    }

    /// Runs `body`, then stops the servers.
    func whileServing<T>(_ body: () async throws -> T) async throws -> T {
        let value: T
        do {
            value = try await body()
        } catch {
            await stop()
            throw error
        }
        await stop()
        return value
    }

    /// The port of a host; nil when its server has stopped.
    func port(of host: Host) -> Int? { state.withLock { $0.listeners[host]?.localAddress?.port } }

    /// Sends all held answers.
    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for answer in held { answer() }
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
        // A connection that breaks off does not wait for the client's close_notify.
        tls.shutdownTimeout = .milliseconds(50)
        if isOutdated { (tls.minimumTLSVersion, tls.maximumTLSVersion) = (.tlsv1, .tlsv11) }
        return try NIOSSLContext(configuration: tls)
    }
}

/// NIO's HTTP codec as this module uses it.
enum SimulatedHTTP {
    /// Made once, before event loops need its metadata: see `HTTPListener`.
    static let codec: Void = {
        _ = ByteToMessageHandler(HTTPRequestDecoder())
        _ = ByteToMessageHandler(HTTPResponseDecoder())
    }()
}

extension EventLoopFuture<Void> {
    /// Waits for completion and ignores the result.
    fileprivate func whenDone() async {
        await withCheckedContinuation { continuation in whenComplete { _ in continuation.resume() } }
    }
}
