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

/// A statement's binds in the binary format, ready to be sent.
package struct Binds: Sendable {
    /// The range of each value in the buffer; nil for NULL.
    private(set) var ranges: [Range<Int>?] = []
    private(set) var types: [UInt32] = []
    private(set) var buffer = BindBuffer()
    /// Why the statement cannot be sent. An interpolation cannot throw, so the error is kept until then.
    private(set) var failure: PostgresError?

    package init() {}

    var count: Int { types.count }

    /// The protocol counts parameters in 16 bits.
    private static let limit = 65_535

    /// - Parameter name: The bind's name in errors; nil shows its number.
    package mutating func append<Value: PostgresEncodable>(_ value: Value, named name: String? = nil) {
        types.append(Value.postgresType.oid)
        guard count <= Self.limit else { return refuse(PostgresError(.invalidBind, "a statement has more than \(Self.limit) binds")) }
        guard !value.isPostgresNull else { return ranges.append(nil) }
        let start = buffer.count
        do throws(PostgresError) {
            try value.encode(into: &buffer)
        } catch {
            refuse(error.located("bind \(label(name))"))
        }
        if buffer.count - start > Int(Int32.max) { refuse(PostgresError(.invalidBind, "bind \(label(name)) is longer than 2 GB")) }
        ranges.append(start..<buffer.count)
    }

    private func label(_ name: String?) -> String {
        name.map { ":\($0)" } ?? "$\(count)"
    }

    mutating func refuse(_ error: PostgresError) {
        failure = failure ?? error
    }
}
