/// One SQL statement with its binds.
///
/// Written as an interpolated literal; each interpolated value becomes a bind (`$1`, `$2`, …) and never part of the text:
/// ```swift
/// let statement: Statement = "SELECT state FROM appstore.inbox_status WHERE event_id = \(id)"
/// ```
package struct Statement: Sendable {
    /// The statement's name in logs and errors.
    package var name: String?
    /// The SQL text with placeholders.
    package let sql: String
    let binds: Binds

    package init(name: String, _ statement: Statement) {
        self.name = name
        sql = statement.sql
        binds = statement.binds
    }

    /// - Parameter sql: with a placeholder for each of the binds.
    package init(name: String? = nil, sql: String, binds: Binds) {
        self.name = name
        self.sql = sql
        self.binds = binds
    }

    /// Throws before sending if the statement cannot be sent.
    func validate() throws(PostgresError) {
        guard var failure = binds.failure else { return }
        failure.statementName = name
        throw failure
    }
}

extension Statement: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) {
        self.init(sql: value, binds: Binds())
    }

    package init(stringInterpolation: StringInterpolation) {
        self.init(sql: stringInterpolation.sql, binds: stringInterpolation.binds)
    }
}

/// The name or the text; never the binds.
extension Statement: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { name ?? sql }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["sql": sql, "binds": binds.count]) }
}
