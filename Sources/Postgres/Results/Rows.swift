import CLibPQ

/// The rows that a statement returned, in order. Each value stays in libpq's result until it is decoded.
package struct Rows: RandomAccessCollection, Sendable {
    private let result: ResultHandle
    private let columns: Columns
    package let count: Int
    /// The rows that the statement returned, inserted, updated or deleted, as the server counts them.
    package let affectedRows: Int

    init(_ result: ResultHandle) {
        self.result = result
        count = result.rowCount
        affectedRows = result.affectedRows
        columns = Columns(of: result)
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> Row {
        precondition(position >= 0 && position < count, "row \(position) of \(count)")
        return Row(result: result, columns: columns, index: position)
    }
}

/// The names and positions of a result's columns; of equal names the first counts.
private final class Columns: Sendable {
    let names: [String]
    private let positions: [String: Int]

    init(of result: ResultHandle) {
        names = (0..<result.columnCount).map(result.columnName)
        positions = Dictionary(zip(names, names.indices), uniquingKeysWith: { first, _ in first })
    }

    func position(of name: String) -> Int? { positions[name] }
}

/// One row of a result.
package struct Row: Sendable {
    fileprivate let result: ResultHandle
    fileprivate let columns: Columns
    fileprivate let index: Int

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

/// Owner of one `PGresult`, which it clears in `deinit`.
///
/// Unchecked: nothing writes a PGresult after libpq has returned it, and libpq's manual allows any thread to read it.
final class ResultHandle: @unchecked Sendable {
    private let result: OpaquePointer
    let status: ExecStatusType

    /// Takes ownership of `result`.
    init(taking result: OpaquePointer) {
        self.result = result
        status = PQresultStatus(result)
    }

    deinit {
        PQclear(result)
    }

    fileprivate var rowCount: Int { Int(PQntuples(result)) }

    fileprivate var columnCount: Int { Int(PQnfields(result)) }

    /// The server's tag of the completed command, such as `INSERT 0 3`.
    var commandTag: String { String(cString: PQcmdStatus(result)) }

    /// The number of affected rows; zero for commands without one.
    fileprivate var affectedRows: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    fileprivate func columnName(_ column: Int) -> String {
        PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// Lends one field; row and column must be in range.
    fileprivate func withField<T>(row: Int, column: Int, _ body: (Field) throws(PostgresError) -> T) throws(PostgresError) -> T {
        let isNull = PQgetisnull(result, Int32(row), Int32(column)) == 1
        let count = Int(PQgetlength(result, Int32(row), Int32(column)))
        let bytes = isNull ? nil : UnsafeRawBufferPointer(start: PQgetvalue(result, Int32(row), Int32(column)), count: count)
        return try body(Field(bytes: bytes, typeOID: PQftype(result, Int32(column))))
    }

    /// One field of an error or notice (`clibpq_…`).
    func diagnostic(_ field: Int32) -> String? {
        PQresultErrorField(result, field).map { String(cString: $0) }
    }

    /// The message of an error, including those that libpq raises.
    var errorMessage: String { String(cString: PQresultErrorMessage(result)) }
}
