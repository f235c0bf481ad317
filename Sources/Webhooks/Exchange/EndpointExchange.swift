import Glibc
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
    private let idle: IdleConnections
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
        idle = IdleConnections(lifetime: configuration.idleLifetime)
    }

    func close() { idle.closeAll() }

    /// Makes one attempt. Cancellation stops it.
    func send(_ request: DeliveryRequest) async -> DeliveryOutcome {
        let deadline = NIODeadline.now() + TimeAmount(request.timeout)
        do {
            let addresses = try await allowedAddresses(of: request.url, before: deadline)
            let received = try await exchange(request, with: addresses, before: deadline)
            let retryAfter = received.head.headers.first(name: "retry-after").flatMap {
                RetryAfter.duration($0, now: Int64(Glibc.time(nil)))
            }
            let status = Int(received.head.status.code)
            return .answered(
                DeliveryAnswer(status: status, retryAfter: retryAfter, body: received.body, byteCount: received.byteCount)
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

    private func exchange(
        _ request: DeliveryRequest,
        with addresses: [IPAddress?],
        before deadline: NIODeadline
    ) async throws -> ReceivedAnswer {
        for address in addresses {
            while let channel = idle.take(IdleConnections.Key(request.url, at: address)) {
                do {
                    return try await exchange(request, at: address, on: channel.eventLoop, before: deadline) {
                        channel.eventLoop.makeSucceededFuture(channel)
                    }
                } catch let failure as DeliveryFailure where failure.kind == .reusedConnectionClosed {
                    continue
                }
            }
        }
        var failure: any Error = DeliveryFailure.timedOut
        for address in addresses.prefix(3) {
            do {
                let loop = group.next()
                return try await exchange(request, at: address, on: loop, before: deadline) { [connector] in
                    try connector.connect(to: request.url, at: address, before: deadline, on: loop)
                }
            } catch let error as NotConnected {
                failure = error.cause
            }
        }
        throw failure
    }

    /// Another address may help, because nothing was sent.
    private struct NotConnected: Error {
        let cause: any Error
    }

    private func exchange(
        _ request: DeliveryRequest,
        at address: IPAddress?,
        on loop: any EventLoop,
        before deadline: NIODeadline,
        over connect: @escaping @Sendable () throws -> EventLoopFuture<any Channel>
    ) async throws -> ReceivedAnswer {
        let key = IdleConnections.Key(request.url, at: address)
        let answer = loop.makePromise(of: ReceivedAnswer.self)
        let pending = PendingExchange(head: request.head, body: request.body, deadline: deadline, answer: answer)
        // On the channel's loop, so that its handler knows of the request before anything can happen to the connection.
        let connecting = loop.flatSubmit {
            do {
                return try connect().flatMapErrorThrowing { throw NotConnected(cause: $0) }
                    .map { channel in
                        channel.writeAndFlush(pending).whenFailure { answer.fail(DeliveryFailure($0)) }
                        return channel
                    }
            } catch {
                return loop.makeFailedFuture(NotConnected(cause: error))
            }
        }
        let result = connecting.flatMap { channel in
            answer.futureResult.map { received in
                if received.isReusable { self.idle.put(channel, key) }
                return received
            }
        }
        do {
            // A little later than the handler, which may have a part of the answer by then.
            return try await result.value(before: deadline + .milliseconds(200))
        } catch {
            answer.fail(DeliveryFailure.cancelled)
            connecting.whenSuccess { $0.close(promise: nil) }
            throw error
        }
    }

    private func refused(_ text: String) -> DeliveryFailure { DeliveryFailure(kind: .refused, text: text) }
}

extension DeliveryRequest {
    fileprivate var head: HTTPRequestHead {
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: url.target)
        for (name, value) in headers { head.headers.replaceOrAdd(name: name, value: value) }
        head.headers.replaceOrAdd(name: "host", value: url.authority)
        head.headers.replaceOrAdd(name: "content-length", value: String(body.count))
        return head
    }
}
