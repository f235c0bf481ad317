/// A statement's binds in the binary format, ready to be sent.
struct Binds: Sendable {
    /// Where a value lies in the buffer; nil for NULL.
    private(set) var ranges: [Range<Int>?] = []
    private(set) var types: [UInt32] = []
    private(set) var buffer = BindBuffer()
    /// Why the statement cannot be sent: an interpolation cannot throw, so this waits for the sending.
    private(set) var failure: PostgresError?

    var count: Int { types.count }

    /// The protocol counts parameters in 16 bits.
    private static let limit = 65_535

    mutating func append<Value: PostgresEncodable>(_ value: Value) {
        types.append(Value.postgresType.oid)
        guard count <= Self.limit else { return refuse(PostgresError(.invalidBind, "a statement has more than \(Self.limit) binds")) }
        guard !value.isPostgresNull else { return ranges.append(nil) }
        let start = buffer.count
        do throws(PostgresError) {
            try value.encode(into: &buffer)
        } catch {
            refuse(error.located("bind $\(count)"))
        }
        if buffer.count - start > Int(Int32.max) { refuse(PostgresError(.invalidBind, "bind $\(count) is longer than 2 GB")) }
        ranges.append(start..<buffer.count)
    }

    mutating func refuse(_ error: PostgresError) {
        failure = failure ?? error
    }
}
