/// One row of a result.
package struct Row: Sendable {
    let result: ResultHandle
    let columns: Columns
    let index: Int

    /// The value of a column by its name.
    ///
    /// - Throws: ``PostgresError/Code/decoding``, with the column's name, if it is missing or has another type; NULL needs an optional type.
    package func decode<Value: PostgresDecodable>(_ column: String, as type: Value.Type = Value.self) throws(PostgresError) -> Value {
        guard let position = columns.position(of: column) else {
            throw PostgresError(.decoding, "there is no column \"\(column)\"; there are: \(columns.names.joined(separator: ", "))")
        }
        return try decode(position, as: type)
    }

    /// The value of a column by its position, from 0.
    package func decode<Value: PostgresDecodable>(_ position: Int, as type: Value.Type = Value.self) throws(PostgresError) -> Value {
        guard columns.names.indices.contains(position) else {
            throw PostgresError(.decoding, "there is no column \(position); there are \(columns.names.count)")
        }
        do throws(PostgresError) {
            return try result.withField(row: index, column: position) { field throws(PostgresError) in try Value.decode(field) }
        } catch {
            throw error.located("column \"\(columns.names[position])\"")
        }
    }

    /// The values of the first columns, in order: `let (id, state) = try row.decode((Int64.self, String.self))`.
    package func decode<each Value: PostgresDecodable>(_ types: (repeat (each Value).Type)) throws(PostgresError) -> (repeat each Value) {
        var position = -1
        func next<T: PostgresDecodable>(_ type: T.Type) throws(PostgresError) -> T {
            position += 1
            return try decode(position, as: type)
        }
        return (repeat try next(each types))
    }
}
