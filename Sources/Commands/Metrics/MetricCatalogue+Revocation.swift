import Postgres
import Prometheus
import Revocation

extension MetricCatalogue {
    /// Whether the certificates that sign are revoked, as read from the database by workers that ask.
    static let revocation = [age, revoked]

    private static let age = MetricDescription(
        "appstore_inbox_revocation_age_seconds",
        .gauge,
        "For how long no OCSP responder has given a usable answer about a certificate that signed within 30 days, the largest of all; absent "
            + "where none is asked about."
    )
    private static let revoked = MetricDescription(
        "appstore_inbox_revoked_certificates",
        .gauge,
        "Certificates that signed and are revoked, so that events are rejected; not those whose revocation an operator ignores."
    )

    /// Exposes the latest statistics of a collector; they are absent until the database has answered.
    static func expose(_ collector: StatisticsCollector<RevocationStatistics>, in registry: MetricRegistry) {
        registry.observe(age.name) { collector.latest?.numbers.age.map { $0 / .seconds(1) } }
        registry.observe(revoked.name) { collector.latest.map { Double($0.numbers.revoked) } }
    }
}
