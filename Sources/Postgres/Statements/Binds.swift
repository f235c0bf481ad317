/// A statement's binds in the binary format, ready to be sent.
package struct Binds: Sendable {
    /// The range of each value in the buffer; nil for NULL.
    private(set) var ranges: [Range<Int>?] = []
    private(set) var types: [UInt32] = []
    private(set) var buffer = BindBuffer()
    /// Why the statement cannot be sent. An interpolation cannot throw, so the error is kept until then.
    private(set) var failure: PostgresError?

    package init() {}

    var count: Int { types.count }

    /// The protocol counts parameters in 16 bits.
    private static let limit = 65_535

    /// - Parameter name: The bind's name in errors; nil shows its number.
    package mutating func append<Value: PostgresEncodable>(_ value: Value, named name: String? = nil) {
        types.append(Value.postgresType.oid)
        guard count <= Self.limit else { return refuse(PostgresError(.invalidBind, "a statement has more than \(Self.limit) binds")) }
        guard !value.isPostgresNull else { return ranges.append(nil) }
        let start = buffer.count
        do throws(PostgresError) {
            try value.encode(into: &buffer)
        } catch {
            refuse(error.located("bind \(label(name))"))
        }
        if buffer.count - start > Int(Int32.max) { refuse(PostgresError(.invalidBind, "bind \(label(name)) is longer than 2 GB")) }
        ranges.append(start..<buffer.count)
    }

    private func label(_ name: String?) -> String {
        name.map { ":\($0)" } ?? "$\(count)"
    }

    mutating func refuse(_ error: PostgresError) {
        failure = failure ?? error
    }
}
