/// Why a database could not be brought to this program's schema.
package struct SchemaError: Error, CustomStringConvertible, Sendable {
    package let code: Code
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// What is to be done about it.
    package struct Code: Hashable, Sendable {
        private enum Value { case rolesMissing, databaseIsNewer }
        private let value: Value

        /// A superuser has to run `sql/roles.sql` once.
        package static let rolesMissing = Code(value: .rolesMissing)
        /// The program has to be upgraded.
        package static let databaseIsNewer = Code(value: .databaseIsNewer)
    }
}
