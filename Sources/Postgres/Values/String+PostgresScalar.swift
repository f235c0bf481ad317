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
