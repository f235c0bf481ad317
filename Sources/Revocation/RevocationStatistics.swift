package import Postgres
import SQL

/// How far the questions about certificates are.
package struct RevocationStatistics: Statistics {
    /// Certificates that signed within 30 days.
    package let certificates: Int64
    /// Certificates whose revocation has an effect.
    package let revoked: Int64
    /// Certificates whose revocation an operator ignores.
    package let ignored: Int64
    /// For how long there has been no usable answer about the certificate that has waited longest; nil where none is asked about.
    package let age: Duration?
    /// The reason of the last failure that is not made up for.
    package let lastError: String?

    /// For the roles worker, viewer and operator.
    package static let statement = Statement.certificateStatistics()

    package init(_ row: Row) throws {
        certificates = try row.decode("certificates")
        revoked = try row.decode("revoked")
        ignored = try row.decode("ignored")
        age = try row.decode("age_seconds", as: Double?.self).map { .seconds(max($0, 0)) }
        lastError = try row.decode("last_error")
    }
}
