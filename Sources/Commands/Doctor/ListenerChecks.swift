import HTTPRequesting
import HTTPServing
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS

/// The listeners that the settings name.
extension DoctorCheck {
    /// A listener, and what answers there.
    private struct Listener {
        let name: String
        let unit: String
        var path = "/readyz"
        /// What the listener says when it is well.
        var status = 200
    }

    @Sendable static func listeners(_ context: DoctorContext) async -> [Finding] {
        let (reader, unit) = (context.daemons, "appstore-inbox-ingest")
        // This listener has no /readyz, and refuses a GET.
        let notifications = Listener(name: "notifications", unit: unit, path: PublicURL.notifications, status: 405)
        var findings = [
            await finding(notifications, reader.valid(Settings.listen)),
            await finding(Listener(name: "admin", unit: unit), reader.valid(Settings.adminListen)),
        ]
        if let worker = reader.valid(Settings.workerAdminListen) ?? nil {
            findings.append(await finding(Listener(name: "worker admin", unit: "appstore-inbox-worker"), worker))
        } else {
            findings.append(.ok("worker admin", "off; the sessions of appstore_worker show whether one runs"))
        }
        if let api = reader.valid(Settings.apiListen) {
            findings.append(await finding(Listener(name: "API", unit: unit), api))
        } else {
            findings.append(.ok("API", "no address is set; where a socket of systemd serves it, add --api-listen"))
        }
        return findings
    }

    private static func finding(_ listener: Listener, _ address: ListenAddress?) async -> Finding {
        guard let address, let target = HTTPAddress(address, target: listener.path) else {
            return .unknown(listener.name, "its address is wrong, or leaves the port to the operating system", "name the address")
        }
        do throws(HTTPProbe.NoAnswer) {
            return judgeListener(listener, address, try await HTTPProbe.send(.GET, target))
        } catch  where error.isDenied {
            return .unknown(listener.name, "\(address): \(error)", "run this as a user who may open the socket, such as root")
        } catch {
            return .failure(
                listener.name,
                "\(address) does not answer: \(error)",
                "the daemon is not running, or listens elsewhere: systemctl status \(listener.unit)"
            )
        }
    }

    private static func judgeListener(_ listener: Listener, _ address: ListenAddress, _ answer: HTTPProbe.Answer) -> Finding {
        if answer.status == listener.status, answer.status == 200 || answer.reason != nil {
            return .ok(listener.name, "\(address) is ready")
        }
        guard let reason = answer.reason else {
            let found = "\(address) answers \(answer.status): another program listens there"
            return .failure(listener.name, found, "give one of them another address")
        }
        return .failure(listener.name, "\(address) answers \(answer.status) \(reason)", answer.detail ?? "journalctl -u \(listener.unit)")
    }
}

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
