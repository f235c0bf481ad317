import CLibPQ

/// Owner of one `PGresult`, which it clears when the last reader lets go.
///
/// Unchecked: a PGresult is never written after libpq has returned it, and libpq's manual allows such results to be read from any thread.
final class ResultHandle: @unchecked Sendable {
    private let result: OpaquePointer
    let status: ExecStatusType

    /// Takes the ownership of `result`.
    init(taking result: OpaquePointer) {
        self.result = result
        status = PQresultStatus(result)
    }

    deinit {
        PQclear(result)
    }

    var rowCount: Int { Int(PQntuples(result)) }

    var columnCount: Int { Int(PQnfields(result)) }

    /// What the server calls the command that it has completed, such as `INSERT 0 3`.
    var commandTag: String { String(cString: PQcmdStatus(result)) }

    /// The rows that a command touched, or zero for commands that touch none.
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

    /// What libpq says for an error that it made itself.
    var errorMessage: String { String(cString: PQresultErrorMessage(result)) }
}
