extension Statement {
    /// Collects the text and the binds of an interpolated literal.
    package struct StringInterpolation: StringInterpolationProtocol {
        var sql = ""
        var binds = Binds()

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql.reserveCapacity(literalCapacity + interpolationCount * 3)
        }

        package mutating func appendLiteral(_ literal: String) {
            sql += literal
        }

        /// Binds a value.
        package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value) {
            binds.append(value)
            sql += "$\(binds.count)"
        }

        /// Binds a value or NULL.
        package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            binds.append(value)
            sql += "$\(binds.count)"
        }

        /// Inserts text verbatim. Only for constants of the program: this is the one way to inject SQL.
        package mutating func appendInterpolation(unsafeRaw text: String) {
            // libpq takes a C string, which ends at the NUL.
            if text.utf8.contains(0) { binds.refuse(PostgresError(.invalidBind, "the statement's text contains a NUL character")) }
            sql += text
        }

        /// Inserts a name, such as a table's, as a quoted identifier.
        package mutating func appendInterpolation(identifier name: String) {
            if name.isEmpty || name.utf8.contains(0) {
                binds.refuse(PostgresError(.invalidBind, "an identifier is empty or contains a NUL character"))
            }
            sql += "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        }
    }
}
