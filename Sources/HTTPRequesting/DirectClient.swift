import NIOCore
import NIOPosix
package import NIOSSL

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
