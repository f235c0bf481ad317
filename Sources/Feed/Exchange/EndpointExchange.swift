import Glibc
import HTTPRequesting
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sends requests to endpoints over HTTP/1.1, as the policy allows.
///
/// A name is resolved, all its addresses are judged, and the connection goes to one of them: what is judged is what is connected to. No
/// redirect is followed.
final class EndpointExchange: Sendable {
    private let configuration: WebhookService.Configuration
    private let connector: EndpointConnector
    private let resolver: NameResolver
    private let connections: HTTPConnections
    private let group = MultiThreadedEventLoopGroup.singleton

    /// - Throws: when a file of `extraRootPaths` cannot be used.
    init(_ configuration: WebhookService.Configuration) throws {
        self.configuration = configuration
        connector = try EndpointConnector(
            extraRootPaths: configuration.extraRootPaths,
            proxy: configuration.proxy,
            timeout: configuration.connectTimeout
        )
        resolver = NameResolver(lifetime: configuration.nameLifetime, lookUp: configuration.lookUp)
        connections = HTTPConnections(idleLifetime: configuration.idleLifetime)
    }

    func close() { connections.close() }

    /// Makes one attempt. Cancellation stops it.
    func send(_ request: DeliveryRequest) async -> DeliveryOutcome {
        let deadline = NIODeadline.now() + TimeAmount(request.timeout)
        do {
            let addresses = try await allowedAddresses(of: request.url, before: deadline)
            let routes = addresses.map { address in route(to: request.url, at: address, before: deadline) }
            let received = try await connections.send(request.http, over: routes, before: deadline)
            let retryAfter = received.headers.first(name: "retry-after").flatMap {
                RetryAfter.duration($0, now: Int64(Glibc.time(nil)))
            }
            // The endpoint has decided, also where the rest of its answer cannot be read.
            return .answered(
                DeliveryAnswer(status: received.status, retryAfter: retryAfter, body: received.body, byteCount: received.byteCount)
            )
        } catch {
            return Task.isCancelled ? .cancelled : DeliveryFailure(error).outcome
        }
    }

    /// The addresses to connect to, in order; nil alone leaves the name to the proxy.
    private func allowedAddresses(of url: EndpointURL, before deadline: NIODeadline) async throws -> [IPAddress?] {
        if connector.proxy != nil {
            if url.address == nil {
                guard url.usesTLS else { throw refused("http by name cannot be judged behind a proxy") }
                return [nil]
            }
            // The certificate would be compared with the address of the proxy.
            guard !url.usesTLS else { throw refused("https to an address cannot be verified behind a proxy: use a name") }
        }
        let addresses: [IPAddress]
        if let address = url.address {
            addresses = [address]
        } else {
            addresses = try await resolver.addresses(of: url.host, on: group.next()).value(before: deadline)
        }
        guard !addresses.isEmpty else { throw DeliveryFailure.failed("the name has no address") }
        for address in addresses {
            if let refusal = configuration.networks.refusal(of: address, usesTLS: url.usesTLS) { throw refused(refusal) }
            if configuration.ownPorts.contains(url.port), ([address] + address.embedded).contains(where: LocalAddress.contains) {
                throw refused("\(address) with port \(url.port) is a listener of this program")
            }
        }
        return addresses
    }

    /// - Parameter address: nil leaves the name to the proxy.
    private func route(to url: EndpointURL, at address: IPAddress?, before deadline: NIODeadline) -> HTTPRoute {
        HTTPRoute(HTTPRoute.Key(url.location.place, address: address?.description)) { [connector] loop in
            try connector.connect(to: url, at: address, before: deadline, on: loop)
        }
    }

    private func refused(_ text: String) -> DeliveryFailure { DeliveryFailure(kind: .refused, text: text) }
}

extension DeliveryRequest {
    fileprivate var http: HTTPRequest {
        HTTPRequest(
            .POST,
            url.location,
            headers: headers,
            body: body,
            maximumBytes: DeliveryAnswer.maximumBytes,
            keptBytes: DeliveryAnswer.keptBytes
        )
    }
}

/// Opens connections to endpoints: to exactly the address that was judged, or through the egress proxy.
private struct EndpointConnector: Sendable {
    private let tls: NIOSSLContext
    let proxy: ProxyAddress?
    private let timeout: Duration

    /// - Parameter extraRootPaths: PEM files with additional trusted certificates.
    /// - Throws: when a file cannot be used.
    init(extraRootPaths: [String], proxy: ProxyAddress?, timeout: Duration) throws {
        tls = try NIOSSLContext(configuration: .client(trusting: extraRootPaths))
        self.proxy = proxy
        self.timeout = timeout
    }

    /// Connects to the endpoint at that address; nil leaves its name to the proxy.
    func connect(
        to url: EndpointURL,
        at address: IPAddress?,
        before deadline: NIODeadline,
        on loop: any EventLoop
    ) throws -> EventLoopFuture<any Channel> {
        let tls = tls
        let bootstrap = ClientBootstrap(group: loop).connectTimeout(max(.zero, min(TimeAmount(timeout), deadline - .now())))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        guard let proxy else {
            let target = try SocketAddress(ipAddress: address?.description ?? url.host, port: url.port)
            return
                bootstrap
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try HTTPConnections.addHandlers(to: channel, for: url.location.place, tls: tls)
                    }
                }
                .connect(to: target)
        }
        let established = loop.makePromise(of: Void.self)
        let target = "\(url.host.contains(":") ? "[\(url.host)]" : url.host):\(url.port)"
        let initializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let tunnel = ProxyTunnelHandler(
                    target: target,
                    authorization: proxy.authorization,
                    deadline: deadline,
                    established: established
                )
                try channel.pipeline.syncOperations.addHandler(tunnel)
            }
        }
        return bootstrap.channelInitializer(initializer).connect(host: proxy.host, port: proxy.port)
            .flatMapErrorThrowing { error in
                let failure = DeliveryFailure.proxyFailed("no connection to the proxy: \(DeliveryFailure(error).text)")
                established.fail(failure)
                throw failure
            }
            .flatMap { channel in
                established.futureResult.flatMapThrowing {
                    try HTTPConnections.addHandlers(to: channel, for: url.location.place, tls: tls)
                    return channel
                }
            }
    }
}

/// Asks an HTTP proxy for a connection to the endpoint (RFC 9110 §9.3.6), and removes itself when there is one.
private final class ProxyTunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let maximumHeadBytes = 8192

    private let request: String
    private let established: EventLoopPromise<Void>
    private let deadline: NIODeadline
    private var timeout: Scheduled<Void>?
    private var received: [UInt8] = []

    /// - Parameters:
    ///   - target: host and port of the endpoint.
    ///   - deadline: until when the proxy must have answered.
    ///   - established: succeeds when the connection leads to the endpoint.
    init(target: String, authorization: String?, deadline: NIODeadline, established: EventLoopPromise<Void>) {
        let credentials = authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
        request = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(credentials)\r\n"
        self.deadline = deadline
        self.established = established
    }

    func channelActive(context: ChannelHandlerContext) {
        timeout = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.fail(context, .proxyFailed("the proxy does not answer in time"))
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else {
            if received.count > Self.maximumHeadBytes { fail(context, .proxyFailed("the proxy does not answer as one")) }
            return
        }
        let line = received.prefix { $0 != UInt8(ascii: "\r") }.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard line.count >= 2, line[0].starts(with: Array("HTTP/1.".utf8)), let status = Int(String(decoding: line[1], as: UTF8.self))
        else {
            return fail(context, .proxyFailed("the proxy does not answer as one"))
        }
        switch status {
        // An endpoint speaks only when it is spoken to.
        case 200...299 where end.upperBound == received.count:
            timeout?.cancel()
            context.pipeline.syncOperations.removeHandler(self).cascade(to: established)
        // The proxy could not reach the endpoint.
        case 502, 503, 504: fail(context, DeliveryFailure(kind: .failed, text: "the proxy cannot connect to it: status \(status)"))
        default: fail(context, .proxyFailed("the proxy refuses to connect: status \(status)"))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        established.fail(DeliveryFailure.proxyFailed("the proxy closed the connection"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(context, .proxyFailed("the connection to the proxy broke: \(DeliveryFailure(error).text)"))
    }

    private func fail(_ context: ChannelHandlerContext, _ failure: DeliveryFailure) {
        established.fail(failure)
        context.close(promise: nil)
    }
}

extension DeliveryFailure {
    static func proxyFailed(_ text: String) -> DeliveryFailure { DeliveryFailure(kind: .proxyFailed, text: text) }
}

/// One attempt to deliver an entry.
struct DeliveryRequest: Sendable {
    let url: EndpointURL
    let headers: [(name: String, value: String)]
    let body: [UInt8]
    /// The timeout of the whole attempt, from resolving the name to the end of the answer.
    let timeout: Duration
}

extension DeliveryRequest: CustomStringConvertible, CustomReflectable {
    /// Shows neither fields nor body: they hold secrets.
    var description: String { "a delivery to \(url)" }
    var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
