package import FoundationEssentials

extension Bool: PostgresScalar {
    package static var postgresType: PostgresType { .bool }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) { buffer.append(UInt8(self ? 1 : 0)) }

    package static func decode(_ field: Field) throws(PostgresError) -> Bool {
        try field.bytes(of: .bool).bigEndianInteger(UInt8.self) != 0
    }
}

extension Double: PostgresScalar {
    package static var postgresType: PostgresType { .float8 }

    package static func accepts(typeOID: UInt32) -> Bool { typeOID == PostgresType.float8.oid || typeOID == PostgresType.float4.oid }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) { buffer.append(bitPattern) }

    package static func decode(_ field: Field) throws(PostgresError) -> Double {
        let bytes = try field.bytes(of: .float8, .float4)
        if bytes.count == 4 { return Double(Float(bitPattern: try bytes.bigEndianInteger())) }
        return Double(bitPattern: try bytes.bigEndianInteger())
    }
}

extension UUID: PostgresScalar {
    package static var postgresType: PostgresType { .uuid }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        withUnsafeBytes(of: uuid) { buffer.append(contentsOf: $0) }
    }

    package static func decode(_ field: Field) throws(PostgresError) -> UUID {
        let bytes = try field.bytes(of: .uuid)
        guard bytes.count == 16 else { throw PostgresError(.decoding, "has \(bytes.count) bytes where 16 were expected") }
        return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}
