/// A value that can be read from a column in PostgreSQL's binary format.
package protocol PostgresDecodable: Sendable {
    /// Reads the value of one field.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` for NULL, another type or malformed bytes; the bytes must not be part of the message.
    static func decode(_ field: Field) throws(PostgresError) -> Self
}
