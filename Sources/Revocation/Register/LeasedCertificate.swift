import Postgres

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
