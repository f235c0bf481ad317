/// `interval`, in whole microseconds.
extension Duration: PostgresScalar {
    package static var postgresType: PostgresType { .interval }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (microseconds, carry) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        if overflow || carry { throw PostgresError(.invalidBind, "a duration is out of PostgreSQL's range") }
        buffer.append(microseconds)
        buffer.append(Int32(0))  // days
        buffer.append(Int32(0))  // months
    }

    /// A day has 24 hours. A month has no length.
    package static func decode(_ field: Field) throws(PostgresError) -> Duration {
        let bytes = try field.bytes(of: .interval)
        guard bytes.count == 16 else { throw PostgresError(.decoding, "has \(bytes.count) bytes where 16 were expected") }
        let microseconds = Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        let days = Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: Int32.self))
        guard bytes.loadUnaligned(fromByteOffset: 12, as: Int32.self) == 0 else { throw PostgresError(.decoding, "has months") }
        return .seconds(Int64(days) * 86_400) + .microseconds(microseconds)
    }
}
