package import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL
import Synchronization

/// How a request reaches its server.
package struct HTTPRoute: Sendable {
    /// Requests with equal keys can share a connection.
    package struct Key: Hashable, Sendable {
        let place: HTTPAddress.Place
        let address: String?

        /// - Parameter address: the IP address that is connected to; nil where another one decides.
        package init(_ place: HTTPAddress.Place, address: String? = nil) {
            (self.place, self.address) = (place, address)
        }
    }

    fileprivate let key: Key
    fileprivate let connect: @Sendable (any EventLoop) throws -> EventLoopFuture<any Channel>

    /// - Parameter connect: makes a connection, and adds the handlers of ``HTTPConnections/addHandlers(to:for:tls:)`` to it.
    package init(_ key: Key, connect: @escaping @Sendable (any EventLoop) throws -> EventLoopFuture<any Channel>) {
        (self.key, self.connect) = (key, connect)
    }
}

/// Sends requests over HTTP/1.1, each on a connection that carries no other one meanwhile. No redirect is followed.
///
/// No answer ends the process: the state of an exchange accepts every order of the parts of an answer, counts what it reads, and refuses
/// statuses that do not exist.
package final class HTTPConnections: Sendable {
    private let idle: IdleConnections
    private let group = MultiThreadedEventLoopGroup.singleton
    /// Made once, before event loops need its metadata: see `HTTPListener`.
    private static let codec: Void = { _ = ByteToMessageHandler(HTTPResponseDecoder()) }()

    /// - Parameter idleLifetime: for how long a connection waits for another request.
    package init(idleLifetime: Duration) {
        idle = IdleConnections(lifetime: idleLifetime)
        Self.codec
    }

    package func close() { idle.closeAll() }

    /// Sends a request over an idle connection, or else over the first route that can be connected. Cancellation stops it.
    ///
    /// A connection that carried another exchange, and that the server closes before this answer, costs nothing: the request goes once more, over
    /// a new one.
    ///
    /// - Returns: the answer from its head on, whole or not.
    package func send(_ request: HTTPRequest, over routes: [HTTPRoute], before deadline: NIODeadline) async throws(ExchangeError)
        -> ReceivedAnswer
    {
        // Only one: each idle connection may be closed by now, after the server has read the request.
        if let (route, channel) = takeIdle(routes) {
            do throws(ExchangeError) {
                return try await exchange(request, over: route, on: channel.eventLoop, before: deadline) {
                    channel.eventLoop.makeSucceededFuture(channel)
                }
            } catch {
                guard error.kind == .reusedConnectionClosed else { throw error }
            }
        }
        var failure = ExchangeError.timedOut
        for route in routes.prefix(3) {
            do throws(ExchangeError) {
                let loop = group.next()
                return try await exchange(request, over: route, on: loop, before: deadline) { try route.connect(loop) }
            } catch {
                guard let error = (error.cause as? NotConnected)?.failure else { throw error }
                failure = error
            }
        }
        throw failure
    }

    private func takeIdle(_ routes: [HTTPRoute]) -> (HTTPRoute, any Channel)? {
        for route in routes {
            if let channel = idle.take(route.key) { return (route, channel) }
        }
        return nil
    }

    /// Another route may help, because nothing was sent.
    private struct NotConnected: Error {
        let failure: ExchangeError
    }

    private func exchange(
        _ request: HTTPRequest,
        over route: HTTPRoute,
        on loop: any EventLoop,
        before deadline: NIODeadline,
        connect: @escaping @Sendable () throws -> EventLoopFuture<any Channel>
    ) async throws(ExchangeError) -> ReceivedAnswer {
        let answer = loop.makePromise(of: ReceivedAnswer.self)
        let pending = PendingExchange(request: request, deadline: deadline, answer: answer)
        // On the channel's loop, so that its handler knows of the request before anything can happen to the connection.
        let connecting = loop.flatSubmit {
            do {
                return try connect().flatMapErrorThrowing { throw NotConnected(failure: ExchangeError($0)) }
                    .map { channel in
                        channel.writeAndFlush(pending).whenFailure { answer.fail(ExchangeError($0)) }
                        return channel
                    }
            } catch {
                return loop.makeFailedFuture(NotConnected(failure: ExchangeError(error)))
            }
        }
        let result = connecting.flatMap { channel in
            answer.futureResult.map { received in
                if received.isReusable { self.idle.put(channel, route.key) }
                return received
            }
        }
        do {
            // A little later than the handler, which may have a part of the answer by then.
            return try await result.value(before: deadline + .milliseconds(200))
        } catch {
            answer.fail(ExchangeError.cancelled)
            connecting.whenSuccess { $0.close(promise: nil) }
            throw ExchangeError(error)
        }
    }

    /// Adds TLS where the place has it, HTTP, and what sends requests.
    package static func addHandlers(to channel: any Channel, for place: HTTPAddress.Place, tls: NIOSSLContext?) throws {
        let pipeline = channel.pipeline.syncOperations
        if case .host(let host, _, usesTLS: true) = place {
            guard let tls else { throw ExchangeError(.invalidRequest, "no TLS is set up for https") }
            // An address is compared with those in the certificate, and is never sent as a name.
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: HTTPAddress.isIPAddress(host) ? nil : host))
        }
        let meter = AnswerMeter()
        try pipeline.addHandler(meter)
        try pipeline.addHTTPClientHandlers()
        try pipeline.addHandler(ExchangeHandler(meter))
    }
}

extension TLSConfiguration {
    /// Verifies certificates and names, over TLS 1.2 or later.
    ///
    /// - Parameter paths: PEM files with certificates that are trusted in addition to the system's.
    /// - Throws: when a file cannot be used.
    package static func client(trusting paths: [String] = []) throws -> TLSConfiguration {
        var tls = makeClientConfiguration()
        tls.certificateVerification = .fullVerification
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        tls.additionalTrustRoots = try paths.map { .certificates(try NIOSSLCertificate.fromPEMFile($0)) }
        return tls
    }
}

/// Connections that wait for the next request over the same route.
private final class IdleConnections: Sendable {
    private struct Entry {
        let channel: any Channel
        let expiry: Scheduled<Void>
    }

    private let lifetime: TimeAmount
    private let entries = Mutex<[HTTPRoute.Key: [Entry]]>([:])

    init(lifetime: Duration) {
        self.lifetime = TimeAmount(lifetime)
    }

    /// Takes the connection that was used last.
    func take(_ key: HTTPRoute.Key) -> (any Channel)? {
        entries.withLock { entries in
            while let entry = entries[key]?.popLast() {
                if entries[key]?.isEmpty == true { entries[key] = nil }
                entry.expiry.cancel()
                if entry.channel.isActive { return entry.channel }
            }
            return nil
        }
    }

    func put(_ channel: any Channel, _ key: HTTPRoute.Key) {
        let expiry = channel.eventLoop.scheduleTask(in: lifetime) {
            if self.remove(channel, key) { channel.close(promise: nil) }
        }
        entries.withLock { $0[key, default: []].append(Entry(channel: channel, expiry: expiry)) }
    }

    func closeAll() {
        let all = entries.withLock { entries in
            defer { entries = [:] }
            return entries.values.joined().map(\.self)
        }
        for entry in all {
            entry.expiry.cancel()
            entry.channel.close(promise: nil)
        }
    }

    /// False when it has been taken.
    private func remove(_ channel: any Channel, _ key: HTTPRoute.Key) -> Bool {
        entries.withLock { entries in
            guard let index = entries[key]?.firstIndex(where: { $0.channel === channel }) else { return false }
            entries[key]?.remove(at: index).expiry.cancel()
            if entries[key]?.isEmpty == true { entries[key] = nil }
            return true
        }
    }
}

extension EventLoopFuture where Value: Sendable {
    /// Waits for the value until the deadline or the cancellation of the task, whichever comes first; these throw an ``ExchangeError``.
    package func value(before deadline: NIODeadline) async throws -> Value {
        let promise = eventLoop.makePromise(of: Value.self)
        let timeout = eventLoop.scheduleTask(deadline: deadline) { promise.fail(ExchangeError.timedOut) }
        whenComplete { result in
            timeout.cancel()
            promise.completeWith(result)
        }
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(ExchangeError.cancelled)
        }
    }
}

/// Sends requests straight to the host of their address, or to a Unix socket, without a proxy.
package final class DirectClient: Sendable {
    private let tls: NIOSSLContext?
    private let connectTimeout: Duration
    private let connections: HTTPConnections

    /// - Parameters:
    ///   - tls: for https; nil where all addresses are plain.
    ///   - idleLifetime: for how long a connection waits for another request.
    package init(tls: TLSConfiguration?, connectTimeout: Duration = .seconds(5), idleLifetime: Duration = .seconds(60)) throws {
        self.tls = try tls.map { try NIOSSLContext(configuration: $0) }
        self.connectTimeout = connectTimeout
        connections = HTTPConnections(idleLifetime: idleLifetime)
    }

    /// Closes the connections that no request uses. A client that is not used any more must be closed.
    package func close() { connections.close() }

    /// Sends a request and waits for its whole answer, at most for `timeout`. Cancellation stops it.
    package func send(_ request: HTTPRequest, timeout: Duration) async throws(ExchangeError) -> ReceivedAnswer {
        let deadline = NIODeadline.now() + TimeAmount(timeout)
        let place = request.address.place
        let route = HTTPRoute(HTTPRoute.Key(place)) { [tls, connectTimeout] loop in
            let bootstrap = ClientBootstrap(group: loop)
                .connectTimeout(max(.zero, min(TimeAmount(connectTimeout), deadline - .now())))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try HTTPConnections.addHandlers(to: channel, for: place, tls: tls) }
                }
            switch place {
            case .host(let host, let port, _):
                return bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1).connect(host: host, port: port)
            case .socket(let path): return bootstrap.connect(unixDomainSocketPath: path)
            }
        }
        let answer = try await connections.send(request, over: [route], before: deadline)
        if let failure = answer.failure { throw failure }
        return answer
    }
}
