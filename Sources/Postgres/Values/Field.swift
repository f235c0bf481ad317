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
