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
