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
