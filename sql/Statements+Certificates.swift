package import Postgres

/// The statements about the certificates that signed; each file documents its statement.
extension StatementFile {
    package static let certificateSee = StatementFile(name: "certificate_see", bytes: EmbeddedFiles.certificate_see_sql)
    package static let certificateLease = StatementFile(name: "certificate_lease", bytes: EmbeddedFiles.certificate_lease_sql)
    package static let certificateSettle = StatementFile(name: "certificate_settle", bytes: EmbeddedFiles.certificate_settle_sql)
    package static let certificateRevocations = StatementFile(
        name: "certificate_revocations",
        bytes: EmbeddedFiles.certificate_revocations_sql
    )
    package static let certificateReadStatistics = StatementFile(
        name: "certificate_read_statistics",
        bytes: EmbeddedFiles.certificate_read_statistics_sql
    )

    /// All of this file.
    package static let certificates = [
        certificateSee, certificateLease, certificateSettle, certificateRevocations, certificateReadStatistics,
    ]
}
