package import Logging
package import Postgres
import SQL
import Synchronization

/// Keeps a daemon from working with a database whose schema it was not built for.
///
/// A pool asks it about each of its connections (``ConnectionPool/Configuration/check``). While the answer is no, the daemon waits as it
/// does for a database that is down; it goes on when the schema fits.
package final class SchemaGate: Sendable {
    private let contract: Int32
    private let logger: Logger
    private let state = Mutex<SchemaError?>(nil)

    package init(contract: Int32 = SchemaContract.current, logger: Logger) {
        self.contract = contract
        self.logger = logger
    }

    /// Why the database cannot be worked with; nil when it could be at the last answer.
    package var refusal: SchemaError? { state.withLock(\.self) }

    /// Asks the database whether it admits this program.
    ///
    /// - Throws: ``SchemaError`` with the reason when it does not.
    package func check(_ connection: Connection) async throws {
        let refusal = try await ask(connection)
        let former = state.withLock { state in
            defer { state = refusal }
            return state
        }
        if let refusal {
            if former?.code != refusal.code { logger.warning("the database cannot be worked with", metadata: ["reason": "\(refusal)"]) }
            throw refusal
        }
        if former != nil { logger.notice("the database can be worked with") }
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
    /// The same limits for a pool that lends connections only while the schema fits.
    package func checked(by gate: SchemaGate) -> Self {
        var copy = self
        copy.check = gate.check
        return copy
    }
}

extension PostgresError {
    /// Whether a schema, table or function is not there.
    fileprivate var namesNothing: Bool {
        sqlState == .invalidSchemaName || sqlState == .undefinedTable || sqlState == .undefinedFunction
    }
}
