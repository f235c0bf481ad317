import Glibc
import HTTPRequesting
import NIOCore
import NIOHTTP1
import NIOPosix

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
