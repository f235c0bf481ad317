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

extension String: PostgresScalar {
    package static var postgresType: PostgresType { .text }

    /// Built-in types whose binary format is their text: "char", name, text, json, unknown, bpchar, varchar.
    private static let textTypes: Set<UInt32> = [18, 19, 25, 114, 705, 1042, 1043]

    /// The first oid of user-defined types: the binary format of enums and citext is text too.
    private static let firstUserDefinedOID: UInt32 = 16_384

    package static func accepts(typeOID: UInt32) -> Bool {
        textTypes.contains(typeOID) || typeOID >= firstUserDefinedOID
    }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        try buffer.append(text: self)
    }

    package static func decode(_ field: Field) throws(PostgresError) -> String {
        guard let bytes = field.bytes else { throw PostgresError(.decoding, "is NULL") }
        guard accepts(typeOID: field.typeOID) else { throw field.unexpectedType([.text]) }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw PostgresError(.decoding, "is not UTF-8") }
        return text
    }
}

/// A JSON document as text, sent as `jsonb`. Not parsed here: the server refuses invalid JSON.
package struct JSONText: Hashable, Sendable, PostgresScalar {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static var postgresType: PostgresType { .jsonb }

    package static func accepts(typeOID: UInt32) -> Bool { typeOID == PostgresType.jsonb.oid || typeOID == PostgresType.json.oid }

    /// The only version of jsonb's binary format: a byte 1, then the text.
    private static let formatVersion: UInt8 = 1

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        buffer.append(Self.formatVersion)
        try buffer.append(text: text)
    }

    package static func decode(_ field: Field) throws(PostgresError) -> JSONText {
        var bytes = try field.bytes(of: .jsonb, .json)
        if field.typeOID == PostgresType.jsonb.oid {
            guard bytes.first == formatVersion else { throw PostgresError(.decoding, "has an unknown version of jsonb") }
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw PostgresError(.decoding, "is not UTF-8") }
        return JSONText(text)
    }
}
