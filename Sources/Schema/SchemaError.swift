package import Postgres

/// Why a database could not be brought to this program's schema, or why this program does not work with it.
package struct SchemaError: Error, CustomStringConvertible, Sendable {
    package let code: Code
    package let description: String
    /// What PostgreSQL said, where that is the reason.
    package let cause: PostgresError?

    init(_ code: Code, _ description: String, cause: PostgresError? = nil) {
        self.code = code
        self.description = description
        self.cause = cause
    }

    /// What is to be done about it.
    package struct Code: Hashable, Sendable {
        private enum Value {
            case rolesMissing, databaseIsNewer, wrongEncoding, unknownSchema, schemaMissing, otherContract
            case locked, hasDependents, fileFailed
        }

        private let value: Value

        /// A superuser has to run `sql/roles.sql` once.
        package static let rolesMissing = Code(value: .rolesMissing)
        /// The program has to be updated.
        package static let databaseIsNewer = Code(value: .databaseIsNewer)
        /// A database with the encoding UTF8 has to be made.
        package static let wrongEncoding = Code(value: .wrongEncoding)
        /// Another database has to be used: its schema `appstore` was not made by a release of this program.
        package static let unknownSchema = Code(value: .unknownSchema)
        /// `appstore-inbox migrate` has to be run.
        package static let schemaMissing = Code(value: .schemaMissing)
        /// `appstore-inbox migrate` has to be run, or the program has to be updated.
        package static let otherContract = Code(value: .otherContract)
        /// Other transactions have to end first.
        package static let locked = Code(value: .locked)
        /// Objects of others have to be dropped first.
        package static let hasDependents = Code(value: .hasDependents)
        /// A file of the schema has an error; ``SchemaError/cause`` tells it.
        package static let fileFailed = Code(value: .fileFailed)
    }
}
