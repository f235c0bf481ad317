extension Int16: PostgresScalar {
    package static var postgresType: PostgresType { .int2 }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) { buffer.append(self) }

    package static func decode(_ field: Field) throws(PostgresError) -> Int16 {
        try field.bytes(of: .int2).bigEndianInteger()
    }
}

extension Int32: PostgresScalar {
    package static var postgresType: PostgresType { .int4 }

    package static func accepts(typeOID: UInt32) -> Bool { typeOID == PostgresType.int4.oid || typeOID == PostgresType.int2.oid }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) { buffer.append(self) }

    package static func decode(_ field: Field) throws(PostgresError) -> Int32 {
        let bytes = try field.bytes(of: .int4, .int2)
        return bytes.count == 2 ? Int32(try bytes.bigEndianInteger(Int16.self)) : try bytes.bigEndianInteger()
    }
}

extension Int64: PostgresScalar {
    package static var postgresType: PostgresType { .int8 }

    package static func accepts(typeOID: UInt32) -> Bool { typeOID == PostgresType.int8.oid || Int32.accepts(typeOID: typeOID) }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) { buffer.append(self) }

    package static func decode(_ field: Field) throws(PostgresError) -> Int64 {
        let bytes = try field.bytes(of: .int8, .int4, .int2)
        return bytes.count == 8 ? try bytes.bigEndianInteger() : Int64(try Int32.decode(field))
    }
}

/// `Int` is sent as `int8`.
extension Int: PostgresScalar {
    package typealias Scalar = Int64

    package static var postgresType: PostgresType { .int8 }

    package static func accepts(typeOID: UInt32) -> Bool { Int64.accepts(typeOID: typeOID) }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) { buffer.append(Int64(self)) }

    package static func decode(_ field: Field) throws(PostgresError) -> Int { Int(try Int64.decode(field)) }
}
