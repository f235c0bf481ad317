/// The concatenated bytes of a statement's binds.
package struct BindBuffer: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package var count: Int { bytes.count }

    /// Appends an integer in network byte order.
    package mutating func append(_ integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func append(contentsOf values: some Sequence<UInt8>) {
        bytes.append(contentsOf: values)
    }

    package mutating func reserve(_ additional: Int) {
        // reserveCapacity may allocate exactly what is requested, so repeated small requests would copy each time.
        if bytes.capacity - bytes.count < additional {
            bytes.reserveCapacity(Swift.max(bytes.capacity * 2, bytes.count + additional))
        }
    }

    /// Appends text in UTF-8.
    ///
    /// - Throws: ``PostgresError/Code/invalidBind`` if it contains NUL.
    package mutating func append(text: String) throws(PostgresError) {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard !bytes[start...].contains(0) else {
            throw PostgresError(.invalidBind, "text contains a NUL character, which PostgreSQL cannot store")
        }
    }

    /// Appends an element of an array or composite: its length, then its bytes; NULL has the length -1.
    mutating func append(lengthPrefixed value: some PostgresEncodable) throws(PostgresError) {
        guard !value.isPostgresNull else { return append(Int32(-1)) }
        let prefix = bytes.count
        append(Int32(0))
        try value.encode(into: &self)
        guard let length = Int32(exactly: bytes.count - prefix - 4) else {
            throw PostgresError(.invalidBind, "an element is longer than 2 GB")
        }
        withUnsafeBytes(of: length.bigEndian) { lengthBytes in
            for index in 0..<4 { bytes[prefix + index] = lengthBytes[index] }
        }
    }
}
