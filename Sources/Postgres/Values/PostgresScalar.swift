/// A single value, such as an integer or a text, that can be bound, read and put into arrays.
///
/// A `RawRepresentable` type over a scalar gets all requirements from an extension.
package protocol PostgresScalar: PostgresEncodable, PostgresDecodable, PostgresArrayElement {
    /// Appends an array of optional elements; a requirement so that each scalar gets a specialised loop.
    static func encode(optionalElements: [Self?], into buffer: inout BindBuffer) throws(PostgresError)
    /// Reads an array of optional elements.
    static func decode(optionalElementsOf field: Field) throws(PostgresError) -> [Self?]
    /// Whether values of that type can be read as this one.
    static func accepts(typeOID: UInt32) -> Bool
}

/// A type whose arrays can be bound: scalars and optionals of scalars as arrays, `UInt8` as `bytea`.
package protocol PostgresArrayElement<Scalar>: Sendable {
    /// The type of an element that is not NULL.
    associatedtype Scalar = Self
    static var postgresArrayType: PostgresType { get }
    static func encode(elements: [Self], into buffer: inout BindBuffer) throws(PostgresError)
    static func decode(elementsOf field: Field) throws(PostgresError) -> [Self]
}

extension PostgresScalar {
    package static func accepts(typeOID: UInt32) -> Bool { typeOID == postgresType.oid }

    package static var postgresArrayType: PostgresType { postgresType.array }

    package static func encode(elements: [Self], into buffer: inout BindBuffer) throws(PostgresError) {
        try ArrayFormat.encode(elements, elementType: postgresType, into: &buffer)
    }

    package static func encode(optionalElements: [Self?], into buffer: inout BindBuffer) throws(PostgresError) {
        try ArrayFormat.encode(optionalElements, elementType: postgresType, into: &buffer)
    }

    package static func decode(elementsOf field: Field) throws(PostgresError) -> [Self] {
        try ArrayFormat.decode(field)
    }

    package static func decode(optionalElementsOf field: Field) throws(PostgresError) -> [Self?] {
        try ArrayFormat.decode(field)
    }
}

extension PostgresScalar where Self: RawRepresentable, RawValue: PostgresScalar {
    package static var postgresType: PostgresType { RawValue.postgresType }

    package static func accepts(typeOID: UInt32) -> Bool { RawValue.accepts(typeOID: typeOID) }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        try rawValue.encode(into: &buffer)
    }

    package static func decode(_ field: Field) throws(PostgresError) -> Self {
        guard let value = Self(rawValue: try RawValue.decode(field)) else {
            throw PostgresError(.decoding, "is not a valid \(Self.self)")
        }
        return value
    }
}
