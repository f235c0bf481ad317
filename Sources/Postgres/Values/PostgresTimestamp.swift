/// An instant with PostgreSQL's precision: `timestamptz`, whole microseconds.
package struct PostgresTimestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 2000-01-01 00:00 UTC, the server's own form.
    package let microsecondsSince2000: Int64

    package init(microsecondsSince2000: Int64) {
        self.microsecondsSince2000 = microsecondsSince2000
    }

    /// 2000-01-01 in milliseconds since 1970.
    private static let epochMilliseconds: Int64 = 946_684_800_000

    /// An instant out of the server's range is refused when it is bound, not here.
    package init(millisecondsSince1970: Int64) {
        let (shifted, underflow) = millisecondsSince1970.subtractingReportingOverflow(Self.epochMilliseconds)
        let (scaled, overflow) = shifted.multipliedReportingOverflow(by: 1000)
        microsecondsSince2000 = underflow || overflow ? (millisecondsSince1970 < 0 ? .min : .max) : scaled
    }

    /// Milliseconds since 1970, rounded down.
    package var millisecondsSince1970: Int64 {
        let (quotient, remainder) = microsecondsSince2000.quotientAndRemainder(dividingBy: 1000)
        return (remainder < 0 ? quotient - 1 : quotient) + Self.epochMilliseconds
    }

    package static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
        left.microsecondsSince2000 < right.microsecondsSince2000
    }
}

extension PostgresTimestamp: PostgresScalar {
    package static var postgresType: PostgresType { .timestamptz }

    /// 4714-11-24 BC up to, not including, 294277-01-01 (`MIN_TIMESTAMP`, `END_TIMESTAMP` in datatype/timestamp.h).
    private static let range: Range<Int64> = -211_813_488_000_000_000..<9_223_371_331_200_000_000

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        guard Self.range.contains(microsecondsSince2000) else {
            throw PostgresError(.invalidBind, "an instant is out of PostgreSQL's range")
        }
        buffer.append(microsecondsSince2000)
    }

    package static func decode(_ field: Field) throws(PostgresError) -> PostgresTimestamp {
        let microseconds: Int64 = try field.bytes(of: .timestamptz).bigEndianInteger()
        guard range.contains(microseconds) else { throw PostgresError(.decoding, "is infinity, no instant") }
        return PostgresTimestamp(microsecondsSince2000: microseconds)
    }
}

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
