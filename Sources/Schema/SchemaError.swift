package import Postgres

/// The reason why a migration failed, or why this program cannot use the database.
package struct SchemaError: Error, CustomStringConvertible, Sendable {
    package let code: Code
    package let description: String
    /// PostgreSQL's error, where that is the reason.
    package let cause: PostgresError?

    init(_ code: Code, _ description: String, cause: PostgresError? = nil) {
        self.code = code
        self.description = description
        self.cause = cause
    }

    static let unknownSchema = SchemaError(
        .unknownSchema,
        "the database has a schema appstore that no release of this program made: use another database, or drop that schema"
    )

    /// The kind of error; each documents its remedy.
    package struct Code: Hashable, Sendable {
        private enum Value {
            case rolesMissing, databaseIsNewer, wrongEncoding, unknownSchema, schemaMissing, schemaIsOlder, wrongRole, notPermitted
            case locked, hasDependents, different, fileFailed
        }

        private let value: Value

        /// Run `sql/roles.sql` once as a superuser.
        package static let rolesMissing = Code(value: .rolesMissing)
        /// Update the program.
        package static let databaseIsNewer = Code(value: .databaseIsNewer)
        /// Create a database with the encoding UTF8.
        package static let wrongEncoding = Code(value: .wrongEncoding)
        /// Use another database: no release of this program created the schema `appstore` of this one.
        package static let unknownSchema = Code(value: .unknownSchema)
        /// Run `appstore-inbox migrate`.
        package static let schemaMissing = Code(value: .schemaMissing)
        /// Run `appstore-inbox migrate`.
        package static let schemaIsOlder = Code(value: .schemaIsOlder)
        /// Connect as the role that the description names.
        package static let wrongRole = Code(value: .wrongRole)
        /// Run `migrate` as another role, or grant what the description names.
        package static let notPermitted = Code(value: .notPermitted)
        /// Retry when the transactions that hold the lock have ended.
        package static let locked = Code(value: .locked)
        /// Drop the foreign objects that depend on the schema first.
        package static let hasDependents = Code(value: .hasDependents)
        /// Undo changes by hand of the objects that the description names.
        package static let different = Code(value: .different)
        /// Report a bug: a file of the schema failed with ``SchemaError/cause``.
        package static let fileFailed = Code(value: .fileFailed)
    }
}
