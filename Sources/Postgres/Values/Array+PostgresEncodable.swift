extension Array: PostgresEncodable where Element: PostgresArrayElement {
    package static var postgresType: PostgresType { Element.postgresArrayType }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        try Element.encode(elements: self, into: &buffer)
    }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    package static func decode(_ field: Field) throws(PostgresError) -> [Element] {
        try Element.decode(elementsOf: field)
    }
}

/// An array of bytes is one value of type `bytea`, not a PostgreSQL array.
extension UInt8: PostgresArrayElement {
    package static var postgresArrayType: PostgresType { .bytea }

    package static func encode(elements: [UInt8], into buffer: inout BindBuffer) throws(PostgresError) {
        buffer.append(contentsOf: elements)
    }

    package static func decode(elementsOf field: Field) throws(PostgresError) -> [UInt8] {
        Array(try field.bytes(of: .bytea))
    }
}

extension Array: PostgresArrayElement where Element == UInt8 {}
extension Array: PostgresScalar where Element == UInt8 {}

/// PostgreSQL's binary format of one-dimensional arrays (`array_send`, `array_recv`).
///
/// Dimensions, flags (is any element NULL), element oid, then for the dimension its length and lower bound, then the elements.
enum ArrayFormat {
    static func encode<Element: PostgresEncodable>(
        _ elements: [Element],
        elementType: PostgresType,
        into buffer: inout BindBuffer
    ) throws(PostgresError) {
        guard let count = Int32(exactly: elements.count) else {
            throw PostgresError(.invalidBind, "an array has more than 2^31 elements")
        }
        buffer.reserve(20 + elements.count * 12)
        buffer.append(Int32(elements.isEmpty ? 0 : 1))
        buffer.append(Int32(elements.contains(where: \.isPostgresNull) ? 1 : 0))
        buffer.append(elementType.oid)
        // An empty array has no dimension: array_recv refuses one of length zero with a lower bound beyond it.
        guard count > 0 else { return }
        buffer.append(count)
        buffer.append(Int32(1))
        for element in elements { try buffer.append(lengthPrefixed: element) }
    }

    static func decode<Element: PostgresDecodable>(_ field: Field) throws(PostgresError) -> [Element] {
        guard let bytes = field.bytes else { throw PostgresError(.decoding, "is NULL") }
        var reader = Reader(bytes: bytes)
        let dimensions: Int32 = try reader.integer()
        _ = try reader.integer(Int32.self)
        let elementOID: UInt32 = try reader.integer()
        guard dimensions <= 1 else { throw PostgresError(.decoding, "is an array of \(dimensions) dimensions where one was expected") }
        guard dimensions == 1 else { return [] }
        let count = Int(try reader.integer(Int32.self))
        _ = try reader.integer(Int32.self)
        var elements: [Element] = []
        elements.reserveCapacity(min(count, bytes.count / 4))
        for _ in 0..<max(count, 0) {
            let length = Int(try reader.integer(Int32.self))
            let value = length < 0 ? nil : try reader.take(length)
            elements.append(try Element.decode(Field(bytes: value, typeOID: elementOID)))
        }
        return elements
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var offset = 0

        mutating func integer<I: FixedWidthInteger>(_ type: I.Type = I.self) throws(PostgresError) -> I {
            try take(MemoryLayout<I>.size).bigEndianInteger(I.self)
        }

        mutating func take(_ count: Int) throws(PostgresError) -> UnsafeRawBufferPointer {
            guard bytes.count - offset >= count else { throw PostgresError(.decoding, "is no complete array") }
            defer { offset += count }
            return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
        }
    }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var postgresType: PostgresType { Wrapped.postgresType }

    package var isPostgresNull: Bool {
        switch self {
        case .none: true
        case .some(let value): value.isPostgresNull
        }
    }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        guard case .some(let value) = self else { return }
        try value.encode(into: &buffer)
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package static func decode(_ field: Field) throws(PostgresError) -> Wrapped? {
        field.bytes == nil ? nil : try Wrapped.decode(field)
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresScalar {
    package typealias Scalar = Wrapped.Scalar

    package static var postgresArrayType: PostgresType { Wrapped.postgresArrayType }

    package static func encode(elements: [Wrapped?], into buffer: inout BindBuffer) throws(PostgresError) {
        try Wrapped.encode(optionalElements: elements, into: &buffer)
    }

    package static func decode(elementsOf field: Field) throws(PostgresError) -> [Wrapped?] {
        try Wrapped.decode(optionalElementsOf: field)
    }
}
