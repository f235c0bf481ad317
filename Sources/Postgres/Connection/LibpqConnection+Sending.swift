import CLibPQ

extension LibpqConnection {
    /// Queues one step of a pipeline without blocking: libpq buffers what the socket does not accept.
    func send(_ step: PipelineStep) throws(PostgresError) {
        let statement = step.statement
        let accepted = try withConnection { connection throws(PostgresError) in
            switch step.command {
            case .flush:
                PQsendFlushRequest(connection)
            case .synchronize:
                PQpipelineSync(connection)
            case .prepare(let name):
                PQsendPrepare(connection, name, statement.sql, Int32(statement.binds.count), statement.binds.types)
            case .execute(let name):
                Self.withParameters(statement.binds) { values, lengths, formats in
                    PQsendQueryPrepared(connection, name, Int32(statement.binds.count), values, lengths, formats, 1)
                }
            case .query:
                Self.withParameters(statement.binds) { values, lengths, formats in
                    let count = Int32(statement.binds.count)
                    return PQsendQueryParams(connection, statement.sql, count, statement.binds.types, values, lengths, formats, 1)
                }
            }
        }
        guard accepted == 1 else { throw lost() }
    }

    /// Queues a text of many statements, in the simple protocol. Not allowed in pipeline mode.
    func send(script: String) throws(PostgresError) {
        let accepted = try withConnection { connection throws(PostgresError) in PQsendQuery(connection, script) }
        guard accepted == 1 else { throw lost() }
    }

    private static func withParameters(
        _ binds: Binds,
        _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> Int32
    ) -> Int32 {
        binds.buffer.bytes.withUnsafeBytes { bytes in
            // An empty value needs an address too: a null pointer means NULL to libpq.
            let base = bytes.baseAddress ?? UnsafeRawPointer(StaticString("").utf8Start)
            let values = binds.ranges.map { range in
                range.map { base.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self) }
            }
            let lengths = binds.ranges.map { Int32($0?.count ?? 0) }
            return body(values, lengths, [Int32](repeating: 1, count: binds.count))
        }
    }
}
