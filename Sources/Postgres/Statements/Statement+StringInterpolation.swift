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

        /// Puts text into the statement as it is. Only for constants of the program: it is the one way to inject SQL.
        package mutating func appendInterpolation(unsafeRaw text: String) {
            // libpq takes the text as a C string and would cut it there.
            if text.utf8.contains(0) { binds.refuse(PostgresError(.invalidBind, "the statement's text holds a NUL character")) }
            sql += text
        }

        /// Puts a name, such as a table's, into the statement, quoted so that it can be nothing but a name.
        package mutating func appendInterpolation(identifier name: String) {
            if name.isEmpty || name.utf8.contains(0) {
                binds.refuse(PostgresError(.invalidBind, "an identifier is empty or holds a NUL character"))
            }
            sql += "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        }
    }
}
