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
