package import AppStoreVerification
package import Logging
import OpenSSL
package import Outbox
package import Postgres
import ServiceLifecycle
package import ServiceSupport

/// Asks OCSP responders whether the certificates that sign are revoked, beside verification, and tells the verifier.
///
/// Soft-fail: only a signed, fresh answer changes what is known. Any number of processes may run it: each question is leased. No transaction is
/// open during a question.
package struct RevocationService: Service {
    /// Between two reads of the register, a fifth of it random.
    private static let pause: Duration = .seconds(60)
    /// How soon a certificate is asked about that has not signed before.
    private static let tick: Duration = .seconds(2)
    /// The duration of a lease. It must be longer than a question.
    private static let lease: Duration = .seconds(120)
    private static let requestTimeout: Duration = .seconds(30)
    /// The largest accepted answer; Apple's have some two kilobytes.
    private static let maximumAnswerBytes = 65_536

    private let register: RevocationRegister
    private let asks: Bool
    private let hosts: @Sendable () -> ResponderHosts
    private let used: @Sendable () -> Set<IssuedCertificate>
    private let apply: @Sendable (Revocations) -> Void
    private let logger: Logger
    private let heartbeat: @Sendable () -> LoopHeartbeat
    private let exchange: Exchange?
    private let database: DatabaseUse

    /// - Parameters:
    ///   - asks: whether this process asks responders; otherwise it only follows what others were told.
    ///   - hosts: which responders may be asked; asked for each question.
    ///   - used: the certificates that have signed since the last call.
    ///   - apply: gets the revocations that have an effect, each time that the register is read.
    ///   - heartbeat: begins the heartbeat of the loop. No step takes longer than the pause or a question.
    ///   - exchange: for tests; nil sends questions by HTTP.
    package init(
        pool: ConnectionPool,
        asks: Bool = true,
        hosts: @escaping @Sendable () -> ResponderHosts = { .apple },
        used: @escaping @Sendable () -> Set<IssuedCertificate>,
        apply: @escaping @Sendable (Revocations) -> Void,
        logger: Logger,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none },
        exchange: Exchange? = nil
    ) {
        register = RevocationRegister(pool: pool)
        self.asks = asks
        self.hosts = hosts
        self.used = used
        self.apply = apply
        self.logger = logger
        database = DatabaseUse(by: "the revocation check", logger: logger)
        self.heartbeat = heartbeat
        self.exchange = exchange
    }

    /// Reads the register, so that the first event already meets what is known. Gives up after half a minute: events go on then.
    package func prepare() async {
        let end = ContinuousClock.now + .seconds(30)
        while !Task.isEnding, .now < end {
            do {
                return try await learn()
            } catch {
                database.failed(error)
                await Task.rest(for: .milliseconds(500))
            }
        }
    }

    /// Runs until graceful shutdown.
    package func run() async throws {
        guard asks else { return await loop(nil) }
        try await Exchange.withClient(Exchange.Configuration(), orUsing: exchange) { await loop($0) }
    }

    private func loop(_ exchange: Exchange?) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        var seen = SeenCertificates()
        while !Task.isEnding {
            do {
                try await step(exchange, &seen, heartbeat)
            } catch {
                database.failed(error)
            }
            let end = ContinuousClock.now + Self.pause * Double.random(in: 0.8...1.2)
            repeat {
                await Task.rest(for: min(Self.tick, end - .now))
                if exchange != nil { seen.add(used(), at: .now) }
            } while !Task.isEnding && .now < end && seen.unreported.isEmpty
        }
    }

    /// Reports what has signed, asks about what is due, and reads the register.
    func step(_ exchange: Exchange?, _ seen: inout SeenCertificates, _ heartbeat: LoopHeartbeat = .none) async throws {
        heartbeat.beat()
        if let exchange {
            try await report(&seen)
            while !Task.isEnding, let leased = try await register.lease(for: Self.lease) {
                heartbeat.beat()
                try await ask(about: leased, exchange)
            }
        }
        try await learn()
    }

    private func learn() async throws {
        apply(try await register.revocations())
        database.succeeded()
    }

    private func report(_ seen: inout SeenCertificates) async throws {
        seen.add(used(), at: .now)
        guard !seen.unreported.isEmpty else { return }
        try await register.see(Array(seen.unreported))
        seen.wereReported(at: .now)
    }

    private func ask(about leased: LeasedCertificate, _ exchange: Exchange) async throws {
        let start = ContinuousClock.now
        var now: Int64 { (leased.leasedAt + (ContinuousClock.now - start).milliseconds) / 1000 }
        let result: QuestionResult
        do throws(OpenSSLError) {
            let subject = (certificate: try Certificate(der: leased.certificate), issuer: try Certificate(der: leased.issuer))
            if let request = try request(subject.certificate, subject.issuer) {
                let outcome = await cancelWhenGracefulShutdown { await exchange.send(request, timeout: Self.requestTimeout) }
                // The lease expires.
                if case .failure(.shuttingDown) = outcome { return }
                result = QuestionResult(outcome, about: leased, subject, at: now)
            } else {
                result = .noAddress
            }
        } catch {
            result = .unanswered("certificate_unreadable")
        }
        var generator = SystemRandomNumberGenerator()
        let wait = QuestionSchedule().wait(after: result, failures: leased.failures, at: now, using: &generator)
        guard try await register.settle(leased, result, askAgainAfter: wait) else { return }
        log(result, about: leased)
        if case .answered(_, .some) = result { try await learn() }
    }

    /// POST, as Apple's own libraries ask: the answer is the responder's latest, not one of a cache. Nil where no responder may be asked.
    private func request(_ certificate: Certificate, _ issuer: Certificate) throws(OpenSSLError) -> OutboundRequest? {
        guard let address = hosts().first(of: certificate.ocspAddresses) else { return nil }
        return OutboundRequest(
            .post,
            address,
            headers: [("Content-Type", "application/ocsp-request"), ("Accept", "application/ocsp-response")],
            body: try OCSPRequest(for: certificate, issuedBy: issuer).der,
            maximumAnswerBytes: Self.maximumAnswerBytes
        )
    }

    private func log(_ result: QuestionResult, about leased: LeasedCertificate) {
        var metadata: Logger.Metadata = [LogKey.certificate: "\(ContentDigest.hexadecimal(leased.fingerprint))"]
        switch result {
        case .answered(_, let revocation?):
            metadata[LogKey.reason] = "\(revocation.reason.rawValue)"
            metadata[LogKey.time] = "\(revocation.time)"
            logger.error("a certificate that signs is revoked: what it signed is rejected", metadata: metadata)
        case .answered: logger.debug("a certificate that signs is good", metadata: metadata)
        case .unanswered(let reason):
            metadata[LogKey.reason] = "\(reason)"
            logger.info("no usable answer whether a certificate is revoked", metadata: metadata)
        }
    }
}

/// Which certificates this process has reported, so that it reports none for each event.
struct SeenCertificates: Sendable {
    /// How often a certificate that signs is reported again.
    static let pause = Duration.seconds(6 * 3600)

    private var reported: [IssuedCertificate: ContinuousClock.Instant] = [:]
    private(set) var unreported: Set<IssuedCertificate> = []

    /// Certificates that have signed since the last call.
    mutating func add(_ used: Set<IssuedCertificate>, at now: ContinuousClock.Instant) {
        reported = reported.filter { now - $0.value < Self.pause }
        unreported.formUnion(used.filter { reported[$0] == nil })
    }

    /// The register has all of ``unreported``.
    mutating func wereReported(at now: ContinuousClock.Instant) {
        for certificate in unreported { reported[certificate] = now }
        unreported = []
    }
}

/// The keys of what this module logs.
private enum LogKey {
    static let certificate = "certificate.sha256"
    static let reason = "certificate.reason"
    static let time = "certificate.revoked_at"
}
