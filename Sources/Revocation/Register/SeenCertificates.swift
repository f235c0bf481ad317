import AppStoreVerification

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
