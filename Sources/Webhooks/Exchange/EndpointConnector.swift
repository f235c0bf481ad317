import HTTPRequesting
import NIOCore
import NIOPosix
import NIOSSL

/// Opens connections to endpoints: to exactly the address that was judged, or through the egress proxy.
struct EndpointConnector: Sendable {
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
