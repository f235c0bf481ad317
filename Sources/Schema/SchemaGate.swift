package import Logging
package import Postgres
import SQL
import Synchronization

/// Keeps a daemon from using a database whose schema has another contract than the daemon was built for.
///
/// A pool checks each of its connections with it (``ConnectionPool/Configuration/check``). While the check fails, the daemon waits as for a
/// database that is down. It continues when the contract matches.
package final class SchemaGate: Sendable {
    private let contract: Int32
    private let logger: Logger
    private let state = Mutex<SchemaError?>(nil)

    package init(contract: Int32 = SchemaContract.current, logger: Logger) {
        self.contract = contract
        self.logger = logger
    }

    /// Why the last check failed; nil when it passed.
    package var refusal: SchemaError? { state.withLock(\.self) }

    /// Queries whether the database admits this program.
    ///
    /// - Throws: ``SchemaError`` with the reason when it does not.
    package func check(_ connection: Connection) async throws {
        let refusal = try await ask(connection)
        let former = state.withLock { state in
            defer { state = refusal }
            return state
        }
        if let refusal {
            if former?.code != refusal.code { logger.warning("the database cannot be used", metadata: ["reason": "\(refusal)"]) }
            throw refusal
        }
        if former != nil { logger.notice("the database can be used") }
    }

    private func ask(_ connection: Connection) async throws -> SchemaError? {
        let statement: Statement = "SELECT f.contract, appstore.admits(\(contract)) AS is_admitted FROM appstore.fence AS f"
        do {
            let rows = try await connection.query(Statement(name: "schema_contract", statement))
            if try rows.first?.decode("is_admitted") == true { return nil }
            let found = try rows.first?.decode("contract", as: Int32.self) ?? 0
            let advice = found < contract ? "run `appstore-inbox migrate`" : "update the program"
            return SchemaError(
                .otherContract,
                "the database has schema contract \(found), this program works with \(contract): \(advice)"
            )
        } catch let error as PostgresError where error.namesNothing {
            return SchemaError(.schemaMissing, "the database has no schema of appstore-inbox: run `appstore-inbox migrate`", cause: error)
        }
    }
}

extension ConnectionPool.Configuration {
    /// The same configuration for a pool that lends a connection only after the gate's check has passed.
    package func checked(by gate: SchemaGate) -> Self {
        var copy = self
        copy.check = gate.check
        return copy
    }
}

extension PostgresError {
    /// Whether a schema, table or function does not exist.
    fileprivate var namesNothing: Bool {
        sqlState == .invalidSchemaName || sqlState == .undefinedTable || sqlState == .undefinedFunction
    }
}
