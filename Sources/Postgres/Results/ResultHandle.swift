import CLibPQ

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

    var rowCount: Int { Int(PQntuples(result)) }

    var columnCount: Int { Int(PQnfields(result)) }

    /// The server's tag of the completed command, such as `INSERT 0 3`.
    var commandTag: String { String(cString: PQcmdStatus(result)) }

    /// The number of affected rows; zero for commands without one.
    var affectedRows: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    func columnName(_ column: Int) -> String {
        PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// Lends one field; row and column must be in range.
    func withField<T>(row: Int, column: Int, _ body: (Field) throws(PostgresError) -> T) throws(PostgresError) -> T {
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
