package import Logging
package import Postgres
import SQL
import Synchronization

/// Keeps a daemon from using a database that it cannot work with: no schema, one of another version, a role without the needed privileges.
///
/// A pool checks each of its connections with it (``ConnectionPool/Configuration/checked(by:)``), and tells it when none can be opened. While
/// the check fails, the daemon waits as for a database that is down. The gate logs each change once, for all who use the pool.
package final class SchemaGate: Sendable {
    private let expected: SchemaExpectation
    private let logger: Logger
    private let onChange: @Sendable (_ trouble: String?) -> Void
    private let state = Mutex(State())

    private struct State {
        var trouble: Trouble?
        /// Whether a connection has passed the check since the last trouble.
        var isUsable = false
        /// The latest text about the trouble.
        var latest: String?
        /// Texts that are logged already since the database could be used.
        var reported: Set<String> = []
        /// How many attempts have failed.
        var failures = 0
    }

    private enum Trouble {
        case unreachable(String)
        case refused(SchemaError)
    }

    /// - Parameters:
    ///   - logger: with metadata that tells this gate's pool from others of the process.
    ///   - onChange: called with the reason when the database can no longer be used, and with nil when it can be.
    package init(
        _ expected: SchemaExpectation,
        logger: Logger,
        onChange: @escaping @Sendable (_ trouble: String?) -> Void = { _ in }
    ) {
        self.expected = expected
        self.logger = logger
        self.onChange = onChange
    }

    /// Why the last check failed although the database answered; nil when it passed, or the database could not be reached.
    package var refusal: SchemaError? {
        state.withLock { if case .refused(let error)? = $0.trouble { error } else { nil } }
    }

    /// Whether the latest attempt to use the database succeeded.
    package var isUsable: Bool { state.withLock(\.isUsable) }

    /// Queries whether the database admits this program.
    ///
    /// - Throws: ``SchemaError`` with the reason when it does not.
    package func check(_ connection: Connection) async throws {
        do {
            var finding: SchemaFinding
            var failures: Int
            // Another connection may have failed while this answer was on its way: then the answer is from before an outage, if it is one.
            repeat {
                failures = state.withLock(\.failures)
                finding = try await SchemaFinding(expected, connection)
            } while !admit(finding, unlessFailedSince: failures)
        } catch let refusal as SchemaError {
            report(.refused(refusal), "the database cannot be used", ["reason": "\(refusal)"])
            throw refusal
        }
    }

    /// Records that no connection could be opened.
    package func openingFailed(_ error: any Error) {
        report(.unreachable("\(error)"), "the database cannot be reached", ["error": "\(error)"])
    }

    private func admit(_ finding: SchemaFinding, unlessFailedSince failures: Int) -> Bool {
        let wasUsable: Bool? = state.withLock { state in
            guard state.failures == failures else { return nil }
            defer { state = State(isUsable: true, failures: failures) }
            return state.isUsable
        }
        guard let wasUsable else { return false }
        guard !wasUsable else { return true }
        logger.notice(
            "the database can be used",
            metadata: [
                "database.name": "\(finding.database)", "database.role": "\(finding.role)", "schema.version": "\(finding.version)",
            ]
        )
        if let warning = finding.warning(expected) { logger.warning("\(warning)") }
        onChange(nil)
        return true
    }

    private func report(_ trouble: Trouble, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        let text = "\(message): \(metadata.values.map { "\($0)" }.joined())"
        let (isNew, isChanged) = state.withLock { state in
            defer { state.latest = text }
            state.trouble = trouble
            state.isUsable = false
            state.failures += 1
            return (state.reported.insert(text).inserted, state.latest != text)
        }
        if isNew { logger.warning(message, metadata: metadata) }
        if isChanged { onChange(text) }
    }
}

extension ConnectionPool.Configuration {
    /// The same configuration for a pool that lends a connection only after the gate's check has passed.
    package func checked(by gate: SchemaGate) -> Self {
        var copy = self
        copy.check = gate.check
        copy.openingFailed = gate.openingFailed
        return copy
    }
}

/// A database that a command can work with.
package struct SchemaFinding: Sendable {
    /// The version of the schema; later than the expected one where its contract is the same.
    package let version: Int
    package let database: String
    /// The role as which statements run.
    package let role: String
    private let isSuperuser: Bool
    private let isMember: Bool

    /// Asks on a connection, in one round trip where all is well.
    ///
    /// - Throws: ``SchemaError`` with what to do when the command cannot work, else the connection's error.
    package init(_ expected: SchemaExpectation, _ connection: Connection) async throws {
        let answers: [Rows]
        do {
            answers = try await connection.pipeline([Self.catalogue(expected), Self.versions])
        } catch let error as PostgresError where error.lacksSchema {
            let row = try await connection.query(Self.catalogue(expected))[0]
            try Self.requireSchema(row)
            throw try row.decode("may_execute") ? error : Self.wrongRole(row, expected)
        }
        let row = answers[0][0]
        try Self.requireSchema(row)
        version = try Self.version(answers[1][0], expected)
        guard try row.decode("may_execute") else { throw try Self.wrongRole(row, expected) }
        let login: String = try row.decode("login")
        guard !expected.isLogin || login == expected.role else {
            throw SchemaError(.wrongRole, "the login is \(login), which the audit would name for each person: log in as \(expected.role)")
        }
        (database, role) = (try row.decode("database"), try row.decode("role"))
        (isSuperuser, isMember) = (try row.decode("is_superuser"), try row.decode("is_member"))
    }

    /// What an operator should change although the command can work.
    package func warning(_ expected: SchemaExpectation) -> String? {
        if isSuperuser {
            return "\(role) is a superuser: connect as \(expected.role), which may do only what is needed and has its own timeouts"
        }
        return isMember ? nil : "\(role) is not \(expected.role), the role for this command, and may do more than is needed"
    }

    private static func requireSchema(_ row: Row) throws {
        guard try row.decode("has_schema") else {
            throw SchemaError(.schemaMissing, "the database has no schema appstore: run `appstore-inbox migrate`")
        }
        guard try row.decode("has_history") else { throw SchemaError.unknownSchema }
    }

    private static func wrongRole(_ row: Row, _ expected: SchemaExpectation) throws -> SchemaError {
        if try row.decode("is_member"), try !row.decode("is_superuser") {
            return SchemaError(.schemaMissing, "the schema appstore is not complete: run `appstore-inbox migrate`, or wait for its end")
        }
        return SchemaError(
            .wrongRole,
            "the role \(try row.decode("role", as: String.self)) may not do what is needed: connect as \(expected.role)"
        )
    }

    private static func version(_ row: Row, _ expected: SchemaExpectation) throws -> Int {
        let version = Int(try row.decode("version", as: Int32.self))
        let contract = try row.decode("contract", as: Int32.self)
        let versions = "the schema is version \(version), this program knows \(expected.version)"
        if contract > expected.contract {
            throw SchemaError(.databaseIsNewer, "\(versions) and cannot work with a change since then: update the program")
        }
        guard contract == expected.contract, version >= expected.version else {
            throw SchemaError(.schemaIsOlder, "\(versions): run `appstore-inbox migrate`")
        }
        return version
    }

    private static let versions = Statement(
        name: "schema_versions",
        """
        SELECT coalesce((SELECT max(h.version) FROM appstore.schema_history AS h), 0) AS version,
               coalesce((SELECT f.contract FROM appstore.fence AS f), 0) AS contract
        """
    )

    /// Reads only catalogues, which every role may do.
    private static func catalogue(_ expected: SchemaExpectation) -> Statement {
        Statement(
            name: "schema_role",
            """
            SELECT current_database()::text AS database, current_user::text AS role, session_user::text AS login,
                   n.oid IS NOT NULL AS has_schema,
                   EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid AND c.relname = 'schema_history') AS has_history,
                   coalesce(pg_catalog.has_schema_privilege(n.oid, 'USAGE'), false)
                   AND coalesce((SELECT bool_or(pg_catalog.has_function_privilege(p.oid, 'EXECUTE')) FROM pg_catalog.pg_proc AS p
                                 WHERE p.pronamespace = n.oid AND p.proname = \(expected.function)), false) AS may_execute,
                   coalesce((SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user), false) AS is_superuser,
                   EXISTS (SELECT FROM pg_catalog.pg_roles AS r
                           WHERE r.rolname = \(expected.role) AND pg_catalog.pg_has_role(r.oid, 'USAGE')) AS is_member
            FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'appstore'
            """
        )
    }
}

extension PostgresError {
    /// Whether a schema, table or column does not exist or may not be read.
    fileprivate var lacksSchema: Bool {
        sqlState == .invalidSchemaName || sqlState == .undefinedTable || sqlState == .insufficientPrivilege
    }
}

/// What a command of this program needs of a database.
package struct SchemaExpectation: Sendable {
    /// The role of `sql/roles.sql` that the command is made for.
    package var role: String
    /// A function of the schema without which the command cannot work.
    package var function: String
    /// Whether the session itself must be of the role: SET ROLE is not enough.
    package var isLogin = false
    /// The least version of the schema, and the contract of the schema with this program.
    package var version = SchemaManifest().version
    package var contract = SchemaContract.current

    package init(role: String, function: String, isLogin: Bool = false) {
        (self.role, self.function, self.isLogin) = (role, function, isLogin)
    }

    package static let ingest = SchemaExpectation(role: "appstore_ingest", function: "receive")
    package static let worker = SchemaExpectation(role: "appstore_worker", function: "settle")
    package static let api = SchemaExpectation(role: "appstore_api", function: "api_key")
    /// Of its sessions alone the schema believes who acts: `appstore.actor()`.
    package static let console = SchemaExpectation(role: "appstore_console", function: "console_session", isLogin: true)
    package static let viewer = SchemaExpectation(role: "appstore_viewer", function: "inbox_statistics")
    /// As the worker it shows the body, too.
    package static let explain = SchemaExpectation(role: "appstore_worker", function: "explain")
}
