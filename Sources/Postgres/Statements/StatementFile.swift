/// A statement of `sql/statements`. Its binds are named (`:limit::integer`); PostgreSQL gets `$1::integer`.
///
/// The names follow psql's rules for variables, so that `\set limit 10` and `\i claim.sql` run the same file. Comments before the first
/// word of SQL are not sent.
package struct StatementFile: Sendable {
    /// The file's name without its extension: the statement's name in logs and errors.
    package let name: String
    /// The SQL text with `$1`, `$2`, …, numbered by first appearance; a name used twice is one bind.
    package let sql: String
    /// The names of the binds, in the order of their numbers.
    package let parameters: [String]

    package init(name: String, text: String) {
        self.init(name: name, bytes: Array(text.utf8))
    }

    /// - Parameter bytes: The file's text in UTF-8.
    package init(name: String, bytes: [UInt8]) {
        var scanner = StatementScanner(bytes)
        scanner.scan()
        self.name = name
        sql = scanner.sql
        parameters = scanner.parameters
    }
}

extension Statement {
    /// Binds every parameter by name.
    ///
    /// After a missing, unknown or repeated name, sending the statement throws ``PostgresError/Code/invalidBind``.
    package init(_ file: StatementFile, _ values: KeyValuePairs<String, any PostgresEncodable> = [:]) {
        self.init(file, binding: values)
    }

    /// The same, for names that are listed elsewhere.
    package init(_ file: StatementFile, binding values: some RandomAccessCollection<(key: String, value: any PostgresEncodable)>) {
        let values = Array(values)
        var binds = Binds()
        for (index, parameter) in file.parameters.enumerated() {
            // Callers usually name the binds in the order of the file.
            let isInOrder = index < values.count && values[index].key == parameter
            if let value = isInOrder ? values[index].value : values.first(where: { $0.key == parameter })?.value {
                binds.append(value, named: parameter)
            } else {
                binds.refuse(PostgresError(.invalidBind, "bind :\(parameter) has no value"))
            }
        }
        if values.count != file.parameters.count { binds.refuse(Self.surplus(in: values, of: file)) }
        self.init(sql: file.sql, binds: binds)
        name = file.name
    }

    private static func surplus(in values: [(key: String, value: any PostgresEncodable)], of file: StatementFile) -> PostgresError {
        guard let unknown = values.first(where: { !file.parameters.contains($0.key) })?.key else {
            return PostgresError(.invalidBind, "a bind has two values")
        }
        return PostgresError(.invalidBind, "the statement has no bind :\(unknown)")
    }
}
