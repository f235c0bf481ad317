/// A value that can be bound to a statement, in PostgreSQL's binary format.
///
/// Conforming types of this module: scalars (``PostgresScalar``), optionals of scalars, and arrays of both.
package protocol PostgresEncodable: Sendable {
    /// The type that is declared to the server, which never has to infer it.
    static var postgresType: PostgresType { get }

    /// Whether the value is SQL's NULL; then ``encode(into:)`` is not called.
    var isPostgresNull: Bool { get }

    /// Appends the value in the binary format of its type.
    ///
    /// - Throws: ``PostgresError/Code/invalidBind`` for a value that the type cannot represent; the value must not be part of the message.
    func encode(into buffer: inout BindBuffer) throws(PostgresError)
}

extension PostgresEncodable {
    package var isPostgresNull: Bool { false }
}

/// A value that can be read from a column in PostgreSQL's binary format.
package protocol PostgresDecodable: Sendable {
    /// Reads the value of one field.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` for NULL, another type or malformed bytes; the bytes must not be part of the message.
    static func decode(_ field: Field) throws(PostgresError) -> Self
}

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

/// A PostgreSQL type by its object id (`pg_type.oid`), with the id of the array over it.
package struct PostgresType: Hashable, Sendable {
    package let oid: UInt32
    /// Zero if there is no array over this type.
    package let arrayOID: UInt32

    package init(oid: UInt32, arrayOID: UInt32) {
        self.oid = oid
        self.arrayOID = arrayOID
    }

    /// The type of arrays over this type.
    package var array: PostgresType { PostgresType(oid: arrayOID, arrayOID: 0) }
}

extension PostgresType {
    package static let bool = PostgresType(oid: 16, arrayOID: 1000)
    package static let bytea = PostgresType(oid: 17, arrayOID: 1001)
    package static let int8 = PostgresType(oid: 20, arrayOID: 1016)
    package static let int2 = PostgresType(oid: 21, arrayOID: 1005)
    package static let int4 = PostgresType(oid: 23, arrayOID: 1007)
    package static let text = PostgresType(oid: 25, arrayOID: 1009)
    package static let json = PostgresType(oid: 114, arrayOID: 199)
    package static let float4 = PostgresType(oid: 700, arrayOID: 1021)
    package static let float8 = PostgresType(oid: 701, arrayOID: 1022)
    package static let timestamptz = PostgresType(oid: 1184, arrayOID: 1185)
    package static let interval = PostgresType(oid: 1186, arrayOID: 1187)
    package static let uuid = PostgresType(oid: 2950, arrayOID: 2951)
    package static let jsonb = PostgresType(oid: 3802, arrayOID: 3807)
}

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

/// One field of a row as the server sent it. Valid only during the call that receives it.
package struct Field {
    /// The value in the binary format of its type; nil for NULL.
    package let bytes: UnsafeRawBufferPointer?
    package let typeOID: UInt32

    package init(bytes: UnsafeRawBufferPointer?, typeOID: UInt32) {
        self.bytes = bytes
        self.typeOID = typeOID
    }

    /// The bytes of a value of one of `types`.
    package func bytes(of types: PostgresType...) throws(PostgresError) -> UnsafeRawBufferPointer {
        guard let bytes else { throw PostgresError(.decoding, "is NULL") }
        for type in types where type.oid == typeOID { return bytes }
        throw unexpectedType(types)
    }

    func unexpectedType(_ expected: [PostgresType]) -> PostgresError {
        let expectation = expected.map { "\($0.oid)" }.joined(separator: " or ")
        return PostgresError(.decoding, "has type oid \(typeOID) where \(expectation) was expected")
    }
}

extension UnsafeRawBufferPointer {
    /// A big-endian integer that fills exactly these bytes.
    func bigEndianInteger<I: FixedWidthInteger>(_ type: I.Type = I.self) throws(PostgresError) -> I {
        guard count == MemoryLayout<I>.size else {
            throw PostgresError(.decoding, "has \(count) bytes where \(MemoryLayout<I>.size) were expected")
        }
        return I(bigEndian: loadUnaligned(as: I.self))
    }
}
