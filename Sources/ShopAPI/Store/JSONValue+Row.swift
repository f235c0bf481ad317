import AppStore
import Postgres
import StrictJSON

extension JSONValue {
    /// A column of text.
    static func text(_ row: Row, _ column: String) throws -> JSONValue {
        .optional(try row.decode(column, as: String?.self))
    }

    /// A boolean column.
    static func flag(_ row: Row, _ column: String) throws -> JSONValue {
        try row.decode(column, as: Bool?.self).map { .bool($0) } ?? .null
    }

    /// A column of integers.
    static func integer(_ row: Row, _ column: String) throws -> JSONValue {
        .optional(try row.decode(column, as: Int32?.self))
    }

    /// A column of JSON, as it is.
    static func document(_ row: Row, _ column: String) throws -> JSONValue {
        guard let text = try row.decode(column, as: JSONText?.self)?.text else { return .null }
        return .object(try JSONParser().parseObject(Array(text.utf8)))
    }

    /// A column of instants, in RFC 3339 form.
    static func instant(_ row: Row, _ column: String) throws -> JSONValue {
        .optional(try row.decode(column, as: PostgresTimestamp?.self)?.timestamp.description)
    }
}
