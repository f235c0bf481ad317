import HTTPRequesting
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS

/// The way of a notification through the proxy.
extension DoctorCheck {
    @Sendable static func publicURL(_ context: DoctorContext) async -> [Finding] {
        guard let url = context.url.flatMap(PublicURL.init) else { return [] }
        var tls = TLSConfiguration.makeClientConfiguration()
        for path in context.daemons.valid(Settings.outboundRoots) ?? [] {
            // The check of the settings reports a file that cannot be read.
            do { tls.additionalTrustRoots.append(.certificates(try NIOSSLCertificate.fromPEMFile(path))) } catch { continue }
        }
        return [await certificate(url, tls), await post(url, tls)]
    }

    private static func certificate(_ url: PublicURL, _ tls: TLSConfiguration) async -> Finding {
        let subject = "TLS of \(url.host)"
        guard url.isTLS else { return .failure(subject, "the URL has none", "name the https URL: Apple posts to no other") }
        do {
            let notAfter = try await Handshake.expiry(url, tls)
            return .expiry(
                subject,
                notAfter,
                now: Int64(now()),
                days: 14,
                "renew the certificate: certbot renew, systemctl status certbot.timer"
            )
        } catch {
            return .failure(subject, "no valid TLS: \(error)", "correct the name, nginx or its certificate: Apple refuses it, too")
        }
    }

    private static func post(_ url: PublicURL, _ tls: TLSConfiguration) async -> Finding {
        let subject = "POST"
        do throws(HTTPProbe.NoAnswer) {
            let answer = try await HTTPProbe.send(.POST, url.address, body: "{}", tls: tls)
            return judge(subject, answer)
        } catch {
            return .failure(subject, "no answer: \(error)", "correct the name, the firewall or nginx")
        }
    }

    static func judge(_ subject: String, _ answer: HTTPProbe.Answer) -> Finding {
        switch (answer.status, answer.reason) {
        case (400, let reason?):
            return .ok(subject, "reaches ingest, which refuses {} (\(reason)); no list of addresses keeps this machine out")
        case (403, nil):
            return .ok(subject, "403: the proxy lets only listed addresses through, such as Apple's; ingest behind it was not reached")
        case (502...504, nil):
            return .failure(
                subject,
                "\(answer.status): the proxy does not reach ingest",
                "systemctl status appstore-inbox-ingest; see nginx's log"
            )
        case (let status, let reason?):
            return .failure(subject, "ingest answers \(status) \(reason)", answer.detail ?? "journalctl -u appstore-inbox-ingest")
        case (let status, nil):
            return .failure(subject, "\(status): the URL does not lead to ingest", "correct the path, or the location in nginx")
        }
    }
}

/// Waits for the end of a TLS handshake.
private final class Handshake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let expiry: EventLoopPromise<Int64>

    private init(_ expiry: EventLoopPromise<Int64>) {
        self.expiry = expiry
    }

    /// The last second of the certificate of a server that is trusted, since 1970.
    static func expiry(_ url: PublicURL, _ tls: TLSConfiguration) async throws -> Int64 {
        let context = try NIOSSLContext(configuration: tls)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let expiry = loop.makePromise(of: Int64.self)
        let connecting = ClientBootstrap(group: loop).connectTimeout(.seconds(5)).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = try NIOSSLClientHandler(context: context, serverHostname: HTTPAddress.isIPAddress(url.host) ? nil : url.host)
                try channel.pipeline.syncOperations.addHandlers([handler, Handshake(expiry)])
            }
        }.connect(host: url.host, port: url.port)
        connecting.cascadeFailure(to: expiry)
        let timeout = loop.scheduleTask(in: .seconds(10)) { expiry.fail(ChannelError.connectTimeout(.seconds(10))) }
        defer { timeout.cancel() }
        let result = try await expiry.futureResult.get()
        try await connecting.get().close()
        return result
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
        do {
            let certificate = try context.pipeline.syncOperations.nioSSL_peerCertificate()
            guard let certificate else { throw NIOSSLError.unableToValidateCertificate }
            expiry.succeed(Int64(certificate.notValidAfter))
        } catch {
            expiry.fail(error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        expiry.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        expiry.fail(ChannelError.eof)
    }
}
