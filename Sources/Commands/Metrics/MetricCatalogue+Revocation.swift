import Revocation

extension MetricCatalogue {
    /// Whether the certificates that sign are revoked, as read from the database by workers that ask.
    static let revocation = RevocationStatistics.metrics.map(\.description)
}

extension RevocationStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        CollectedMetric(
            "revocation_age_seconds",
            "For how long no OCSP responder has given a usable answer about a certificate that signed within 30 days, the largest of all; absent "
                + "where none is asked about."
        ) { $0.age.map { $0 / .seconds(1) } },
        CollectedMetric(
            "revoked_certificates",
            "Certificates that signed and are revoked, so that events are rejected; not those whose revocation an operator ignores."
        ) { Double($0.revoked) },
    ]
}
