import AppStore
package import AppStoreVerification
import OpenSSL
package import Postgres
import SQL
import ServiceSupport

/// Runs the statements about certificates.
package struct RevocationRegister: Sendable {
    let pool: ConnectionPool

    /// The revocations that have an effect.
    package static func revocations(_ connection: Connection) async throws -> Revocations {
        try revocations(try await connection.query(.certificateRevocations()))
    }

    /// The revocations that have an effect, for a role that may read certificates.
    package static func revocations(_ transaction: Transaction) async throws -> Revocations {
        try revocations(try await transaction.query(.certificateRevocations()))
    }

    private static func revocations(_ rows: Rows) throws -> Revocations {
        var revocations = Revocations()
        for row in rows {
            let first: Int64? = try row.decode("from_ms")
            revocations.add(
                try row.decode("fingerprint"),
                refusing: first.map { Revocations.RefusedDates.from(Timestamp(millisecondsSince1970: $0)) } ?? .all
            )
        }
        return revocations
    }

    func revocations() async throws -> Revocations {
        try await pool.withConnection { try await Self.revocations($0) }
    }

    /// Records that certificates sign.
    func see(_ seen: [IssuedCertificate]) async throws {
        _ = try await pool.query(.seeCertificates(certificates: seen.map(\.certificate.der), issuers: seen.map(\.issuer.der)))
    }

    /// Leases the next certificate that is due.
    func lease(for length: Duration) async throws -> LeasedCertificate? {
        let seconds = Int32(clamping: length.milliseconds / 1000)
        return try await pool.query(.leaseCertificate(seconds: seconds)).first.map(LeasedCertificate.init)
    }

    /// False when there is a later lease.
    func settle(_ leased: LeasedCertificate, _ result: QuestionResult, askAgainAfter wait: Duration) async throws -> Bool {
        var (status, error): (String?, String?) = (nil, nil)
        var (validity, revocation): (OCSPValidity?, OCSPRevocation?) = (nil, nil)
        switch result {
        case .answered(let window, let found):
            (validity, revocation) = (window, found)
            status = found == nil ? "good" : "revoked"
        case .unanswered(let reason): error = reason
        }
        let statement = Statement.settleCertificate(
            fingerprint: leased.fingerprint,
            epoch: leased.epoch,
            status: status,
            thisUpdate: validity?.thisUpdate,
            nextUpdate: validity?.nextUpdate,
            revokedAt: revocation?.time,
            reason: revocation?.reason.rawValue,
            error: error,
            waitMS: wait.milliseconds
        )
        return try await pool.query(statement).first?.decode(0) ?? false
    }
}

/// A certificate that this process is to ask about.
struct LeasedCertificate: Sendable {
    /// SHA-256 of ``certificate``.
    let fingerprint: [UInt8]
    let epoch: Int64
    /// DER.
    let certificate: [UInt8]
    /// DER.
    let issuer: [UInt8]
    /// Questions in a row without an answer.
    let failures: Int
    /// Of the last usable answer, in seconds since 1970.
    let thisUpdate: Int64?
    /// The database's clock at the lease, in milliseconds since 1970.
    let leasedAt: Int64

    init(_ row: Row) throws {
        fingerprint = try row.decode("fingerprint")
        epoch = try row.decode("epoch")
        certificate = try row.decode("certificate")
        issuer = try row.decode("issuer")
        failures = Int(try row.decode("failures", as: Int32.self))
        thisUpdate = try row.decode("this_update")
        leasedAt = try row.decode("now_ms")
    }
}

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
