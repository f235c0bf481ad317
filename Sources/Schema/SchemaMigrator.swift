package import Logging
package import Postgres
package import SQL
import ServiceSupport

/// Brings a database to this program's schema. Concurrent runs are serialized; the later ones find nothing to do.
package struct SchemaMigrator: Sendable {
    let connection: Connection
    let manifest: SchemaManifest
    private let lockTimeout: Duration
    let logger: Logger

    /// - Parameters:
    ///   - connection: To PostgreSQL itself, not to a pooler, since the lock and the settings belong to a session. Close it after an error.
    ///   - lockTimeout: How long a statement waits for a lock. Meanwhile every later access to the table queues behind it.
    package init(
        connection: Connection,
        manifest: SchemaManifest = SchemaManifest(),
        lockTimeout: Duration = .seconds(5),
        logger: Logger
    ) {
        self.connection = connection
        self.manifest = manifest
        self.lockTimeout = lockTimeout
        self.logger = logger
    }

    /// Creates the schema, or upgrades it: applies the missing steps, and replaces functions, views and privileges if they differ.
    ///
    /// Either is one transaction, so a failed run has changed nothing. Only the indexes and enum values of steps that are marked `-- concurrently`
    /// are made before it; the next run finds them.
    ///
    /// - Throws: ``SchemaError`` when the database or the role does not permit it, or when an object of the program still differs at the end.
    package func migrate() async throws -> SchemaChanges {
        try await connection.execute("SELECT FROM pg_advisory_lock(\(Self.lockKey))")
        try await requireUTF8()
        try await ensureRoles()
        try await actAsOwner()
        let known = try await knownVersion()
        let changes = known == 0 ? try await createIfPermitted() : try await upgrade(from: known)
        try await connection.runScript("RESET ROLE; RESET ALL; SELECT pg_advisory_unlock(\(Self.lockKey));")
        return changes
    }

    /// The version of the database's schema: 0 when it has none.
    ///
    /// - Throws: ``SchemaError`` with ``SchemaError/Code/unknownSchema`` when no release of this program created the schema.
    func version() async throws -> Int {
        let rows = try await connection.query(
            """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c
                           WHERE c.relnamespace = n.oid AND c.relname = 'schema_history') AS has_history
            FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'appstore'
            """
        )
        guard let row = rows.first else { return 0 }
        guard try row.decode("has_history") else { throw SchemaError.unknownSchema }
        let versions = try await connection.query("SELECT max(version) AS version FROM appstore.schema_history")
        return Int(try versions[0].decode("version", as: Int32.self))
    }

    /// The version of the database's schema.
    ///
    /// - Throws: ``SchemaError`` when it is later than this program's.
    private func knownVersion() async throws -> Int {
        let known = try await version()
        guard known <= manifest.version else {
            throw SchemaError(
                .databaseIsNewer,
                "the database has schema version \(known), this program knows \(manifest.version): update the program"
            )
        }
        return known
    }

    /// Acts as the owner of the schema from now on, with the settings that each file relies on.
    private func actAsOwner() async throws {
        do {
            try await connection.runScript(sessionSettings)
        } catch let error as PostgresError where error.sqlState == .insufficientPrivilege {
            let user = try await connection.query("SELECT quote_ident(session_user) AS name")[0].decode("name", as: String.self)
            throw SchemaError(
                .notPermitted,
                "\(user) may not act as appstore_owner: run migrate as a superuser or the role that made appstore_owner, or as one of these "
                    + "GRANT appstore_owner TO \(user)",
                cause: error
            )
        }
    }

    private func createIfPermitted() async throws -> SchemaChanges {
        do {
            return try await create()
        } catch let error as SchemaError where error.cause?.sqlState == .insufficientPrivilege {
            throw SchemaError(
                .notPermitted,
                "\(error); run sql/roles.sql in this database as a superuser, which lets appstore_owner create the schema",
                cause: error.cause
            )
        }
    }

    private func requireUTF8() async throws {
        let rows = try await connection.query("SELECT current_setting('server_encoding') AS encoding, current_database()::text AS name")
        let encoding = try rows[0].decode("encoding", as: String.self)
        guard encoding != "UTF8" else { return }
        throw SchemaError(
            .wrongEncoding,
            """
            database \(try rows[0].decode("name", as: String.self)) has the encoding \(encoding), and UTF8 is needed: \
            make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0
            """
        )
    }

    private func ensureRoles() async throws {
        if try await mayChangeRoles() {
            do {
                return try await connection.runScript("BEGIN;\n\(manifest.roles.text)\nCOMMIT;")
            } catch let error as PostgresError {
                let code: SchemaError.Code = error.sqlState == .insufficientPrivilege ? .notPermitted : .fileFailed
                throw SchemaError(code, "\(manifest.roles.name): \(error)", cause: error)
            }
        }
        let missing = try await missingRoles()
        guard missing.isEmpty else {
            throw SchemaError(
                .rolesMissing,
                "these roles are missing and this one may not create them: \(missing.joined(separator: ", ")); "
                    + "run sql/roles.sql as a superuser\(try await missingAdminOptions())"
            )
        }
    }

    /// What a role that may create roles lacks to change the program's, as the end of a sentence.
    private func missingAdminOptions() async throws -> String {
        let rows = try await connection.query(
            """
            SELECT format(', or GRANT %s TO %I WITH ADMIN OPTION', string_agg(quote_ident(r.rolname), ', ' ORDER BY r.rolname), current_user) AS remedy
            FROM pg_catalog.pg_roles AS me CROSS JOIN pg_catalog.pg_roles AS r
            WHERE me.rolname = current_user AND me.rolcreaterole
              AND r.rolname = ANY (\(Self.roles)) AND NOT pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION')
            HAVING count(*) > 0
            """
        )
        return try rows.first?.decode("remedy") ?? ""
    }

    /// Whether this role may make the program's roles and change those that exist. Since PostgreSQL 16 CREATEROLE is not enough for that: it
    /// takes the ADMIN option, which the role that makes another has, and which it may give to others.
    private func mayChangeRoles() async throws -> Bool {
        let rows = try await connection.query(
            """
            SELECT me.rolsuper
                   OR me.rolcreaterole
                      AND (current_setting('server_version_num')::integer < 160000
                           OR NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r
                                          WHERE r.rolname = ANY (\(Self.roles)) AND NOT pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION'))) AS may
            FROM pg_catalog.pg_roles AS me WHERE me.rolname = current_user
            """
        )
        return try rows.first?.decode("may") == true
    }

    /// The program's roles that the cluster lacks.
    private func missingRoles() async throws -> [String] {
        try await connection.query(
            """
            SELECT wanted.name FROM unnest(\(Self.roles)) AS wanted (name)
            WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted.name)
            """
        ).map { try $0.decode("name") }
    }

    /// ALTER ROLE settings apply to logins, not to SET ROLE, so the session sets them. An empty search_path makes each file qualify names.
    private var sessionSettings: String {
        """
        SET ROLE appstore_owner; SET search_path = ''; SET TimeZone = 'UTC'; SET lock_timeout = \(lockTimeout.milliseconds);
        SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
        """
    }

    /// The program's roles.
    static let roles = [
        "appstore_owner", "appstore_ingest", "appstore_worker", "appstore_operator", "appstore_viewer", "appstore_backend",
        "appstore_reporter", "appstore_api", "appstore_console", "appstore_bodies",
    ]
    /// An arbitrary number, the same for every run.
    private static let lockKey: Int64 = 0x6170_7073_746f_7265
}

/// What a run of ``SchemaMigrator/migrate()`` would do.
package struct SchemaPlan: Hashable, Sendable {
    /// Roles that it would make.
    package let roles: [String]
    package let changes: SchemaChanges
}

/// Sentences for the operator.
extension SchemaPlan: CustomStringConvertible {
    package var description: String {
        var lines = roles.isEmpty ? [] : ["Would make the roles \(roles.joined(separator: ", "))."]
        if let created = changes.created {
            lines.append("Would make the schema, in version \(created).")
        } else {
            lines.append(changes.isEmpty ? "The schema is current." : "Would apply \(changes.parts.joined(separator: ", ")).")
        }
        return lines.joined(separator: "\n")
    }
}

extension SchemaMigrator {
    /// What ``migrate()`` would do; changes nothing.
    ///
    /// - Throws: ``SchemaError`` as far as the reasons for which ``migrate()`` would fail can be seen.
    package func plan() async throws -> SchemaPlan {
        try await connection.runScript("SET default_transaction_read_only = on")
        try await requireUTF8()
        let roles = try await missingRoles()
        let known = try await knownVersion()
        var changes = SchemaChanges()
        if known == 0 {
            changes.created = manifest.version
        } else {
            changes.steps = manifest.steps.filter { $0.version > known }.map(\.file.name)
            try await actAsOwner()
            changes.isRedefined = changes.steps.isEmpty ? try await isOutdated() : true
            if changes.isEmpty { try await requireOwnObjects() }
        }
        return SchemaPlan(roles: roles, changes: changes)
    }

    /// A line for each version: what the database was made with or has applied since, and what it lacks.
    package func versions() async throws -> [String] {
        let known = try await version()
        guard known > 0 else { return ["\(manifest.version)  the whole schema, not made yet"] }
        let rows = try await connection.query(
            """
            SELECT version, name, is_breaking, to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS applied_at
            FROM appstore.schema_history ORDER BY version
            """
        )
        let applied = try rows.map { row in
            let version = try row.decode("version", as: Int32.self)
            let breaking = try row.decode("is_breaking") ? ", breaking" : ""
            let unknown = version > manifest.version ? ", unknown to this program" : ""
            let time = try row.decode("applied_at", as: String.self)
            return "\(version)  \(try row.decode("name", as: String.self)), applied \(time)\(breaking)\(unknown)"
        }
        let missing = manifest.steps.filter { $0.version > known }.map { step in
            "\(step.version)  \(step.file.name), not applied yet\(step.isBreaking ? ", breaking" : "")"
        }
        return applied + missing
    }
}

/// The changes of a run of ``SchemaMigrator/migrate()``.
package struct SchemaChanges: Hashable, Sendable {
    /// The version of the created schema; nil when the database had one.
    package var created: Int?
    /// The names of the steps that were applied, in order.
    package var steps: [String] = []
    /// Whether functions, views and privileges were replaced.
    package var isRedefined = false

    package var isEmpty: Bool { self == SchemaChanges() }
}

/// A sentence for the operator.
extension SchemaChanges: CustomStringConvertible {
    package var description: String {
        if let created { return "The schema is made, in version \(created)." }
        if isEmpty { return "The schema is current." }
        return "Applied \(parts.joined(separator: ", "))."
    }

    /// The names of what is applied to a schema that exists.
    var parts: [String] { steps + (isRedefined ? ["functions, views and privileges"] : []) }
}

extension SchemaMigrator {
    /// Creates the schema in a database that has none.
    private func create() async throws -> SchemaChanges {
        try await transaction("the schema") {
            for file in manifest.tables { try await run(file) }
            try await connection.execute(
                """
                INSERT INTO appstore.schema_history (version, name, is_breaking) VALUES (\(Int32(manifest.version)), 'tables', false)
                """
            )
            try await connection.execute("INSERT INTO appstore.fence (contract) VALUES (\(manifest.contract))")
            try await define()
        }
        logger.notice("schema made", metadata: ["schema.version": "\(manifest.version)"])
        return SchemaChanges(created: manifest.version, isRedefined: true)
    }

    /// Applies the missing steps, and replaces functions, views and privileges, in one transaction.
    ///
    /// - Parameter known: the version of the database's schema.
    private func upgrade(from known: Int) async throws -> SchemaChanges {
        let steps = manifest.steps.filter { $0.version > known }
        let isOutdated = if steps.isEmpty { try await isOutdated() } else { true }
        guard isOutdated else {
            try await requireOwnObjects()
            return SchemaChanges()
        }
        var ahead: Set<String> = []
        for step in steps where step.isConcurrent { ahead.formUnion(try await runAhead(step.file)) }
        let done = ahead
        try await transaction("the upgrade") {
            // Each claim reads the fence and locks it until its batch has ended. So this lock waits for batches of earlier releases.
            if steps.contains(where: \.isBreaking) { try await connection.execute("LOCK TABLE appstore.fence IN ACCESS EXCLUSIVE MODE") }
            let grants = try await foreignGrants()
            try await emptyViews()
            for step in steps where !step.isAfterDefinitions { try await apply(step, without: done) }
            try await define()
            for step in steps where step.isAfterDefinitions { try await apply(step, without: done) }
            try await restore(grants)
            try await requireOwnObjects()
        }
        let changes = SchemaChanges(steps: steps.map(\.file.name), isRedefined: true)
        logger.notice("schema upgraded", metadata: ["schema.version": "\(manifest.version)", "schema.parts": "\(changes.parts)"])
        return changes
    }

    /// - Parameter done: the statements that ran ahead. CREATE INDEX would lock its table against writers, also where it finds the index; and a
    ///   writer that waits for a view that is emptied holds such a table: a deadlock.
    private func apply(_ step: SchemaStep, without done: Set<String>) async throws {
        if step.isConcurrent {
            // What was too early ahead of the steps before it.
            let statements = try await naming(step.file) { try await self.statements(step.file) }
            for statement in statements where !done.contains(statement) {
                try await naming(step.file) { try await connection.runScript(statement.replacing(" CONCURRENTLY", with: "")) }
            }
            try await requireValid(statements, of: step.file)
        } else {
            try await run(step.file)
        }
        try await connection.execute(
            """
            INSERT INTO appstore.schema_history (version, name, is_breaking)
            VALUES (\(Int32(step.version)), \(step.file.name), \(step.isBreaking))
            """
        )
        if step.isBreaking { try await connection.execute("UPDATE appstore.fence SET contract = \(Int32(step.version))") }
    }
}

/// Steps that are marked `-- concurrently`.
extension SchemaMigrator {
    /// Runs the statements of a step ahead of the transaction of the upgrade, as far as the objects of the database permit, and returns those that
    /// ran. ``apply(_:without:)`` runs the others.
    ///
    /// CREATE INDEX CONCURRENTLY and DROP INDEX CONCURRENTLY block no session, but wait for open transactions, so they run without a lock timeout.
    private func runAhead(_ file: SchemaFile) async throws -> Set<String> {
        let query = try await naming(file) { try await unlessTooEarly(file.name) { try await self.statements(file) } }
        guard let statements = query else { return [] }
        var done: Set<String> = []
        do {
            try await connection.runScript("SET lock_timeout = 0")
            try await dropInvalid(statements)
            for statement in statements where try await unlessTooEarly(statement, { try await connection.runScript(statement) }) != nil {
                done.insert(statement)
            }
            try await connection.runScript("SET lock_timeout = \(lockTimeout.milliseconds)")
            try await requireValid(statements, of: file)
            return done
        } catch let error as PostgresError {
            await dropLeftovers(statements)
            throw SchemaError(.fileFailed, "\(file.name): \(error)", cause: error)
        }
    }

    /// The statements that the step's query returns.
    private func statements(_ file: SchemaFile) async throws -> [String] {
        try await connection.query("\(unsafeRaw: file.text)").map { try $0.decode(0) }
    }

    /// What runs ahead may name an object that an earlier step makes, which the database lacks.
    private static let tooEarly: Set<SQLState> = [
        .invalidSchemaName, .undefinedTable, .undefinedColumn, .undefinedObject, .undefinedFunction,
    ]

    /// Returns nil where `body` names an object that an earlier step makes: the upgrade runs it after that step.
    private nonisolated(nonsending) func unlessTooEarly<T: Sendable>(_ part: String, _ body: () async throws -> T) async throws -> T? {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState.map(Self.tooEarly.contains) == true {
            logger.notice("the upgrade runs this after earlier steps", metadata: ["schema.part": "\(part)", "error": "\(error)"])
            return nil
        }
    }

    /// Throws when an index of the statements is invalid: `IF NOT EXISTS` does not notice.
    private func requireValid(_ statements: [String], of file: SchemaFile) async throws {
        let invalid = try await invalidIndexes(statements)
        guard invalid.isEmpty else {
            throw SchemaError(.fileFailed, "\(file.name): invalid: \(invalid.joined(separator: ", ")); drop it and run migrate again")
        }
    }

    /// Drops what a cancelled CREATE INDEX CONCURRENTLY has left.
    private func dropInvalid(_ statements: [String]) async throws {
        for index in try await invalidIndexes(statements) {
            try await connection.runScript("DROP INDEX CONCURRENTLY \(index)")
            logger.notice("invalid index dropped", metadata: ["schema.index": "\(index)"])
        }
    }

    /// Drops invalid indexes after an error; where this fails, the next run drops them.
    private func dropLeftovers(_ statements: [String]) async {
        do {
            try await connection.runScript("SET lock_timeout = \(lockTimeout.milliseconds)")
            try await dropInvalid(statements)
        } catch {
            logger.warning("an invalid index may be left until the next migrate", metadata: ["error": "\(error)"])
        }
    }

    /// The invalid indexes that the statements name. The index of a partitioned table is valid when each partition has it.
    private func invalidIndexes(_ statements: [String]) async throws -> [String] {
        try await connection.query(
            """
            SELECT i.indexrelid::regclass::text AS name
            FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
            WHERE NOT i.indisvalid AND c.relkind = 'i' AND c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
              AND EXISTS (SELECT FROM unnest(\(statements)) AS s (text) WHERE s.text ~ ('\\m' || c.relname || '\\M'))
            """
        ).map { try $0.decode("name") }
    }
}

extension SchemaMigrator {
    private static let attempts = 3

    /// Runs `body` in a transaction and retries it after a short pause when a lock times out or the server ends a deadlock.
    ///
    /// - Parameter name: The transaction's name in errors.
    private nonisolated(nonsending) func transaction(_ name: String, _ body: () async throws -> Void) async throws {
        var pause = Backoff(base: .seconds(1), cap: .seconds(2))
        for attempt in 1... {
            do {
                try await connection.runScript("BEGIN ISOLATION LEVEL READ COMMITTED")
                try await body()
                return try await connection.runScript("COMMIT")
            } catch {
                await rollBack()
                let cause = error as? PostgresError ?? (error as? SchemaError)?.cause
                guard let state = cause?.sqlState, [.lockNotAvailable, .deadlockDetected].contains(state) else {
                    throw Self.named(name, error)
                }
                let obstacle =
                    state == .deadlockDetected
                    ? "the server ended a deadlock with another transaction"
                    : "a lock was not free within \(lockTimeout); \(try await lockHolders())"
                guard attempt < Self.attempts else { throw SchemaError(.locked, "\(name): \(obstacle)", cause: cause) }
                logger.notice("trying again: \(obstacle)", metadata: ["schema.part": "\(name)"])
            }
            var generator = SystemRandomNumberGenerator()
            try await Task.sleep(for: pause.next(using: &generator))
        }
    }

    /// PostgreSQL's error with the name of what failed; other errors have it already.
    private static func named(_ name: String, _ error: any Error) -> any Error {
        (error as? PostgresError).map { SchemaError(.fileFailed, "\(name): \($0)", cause: $0) } ?? error
    }

    /// Runs a file of the manifest.
    func run(_ file: SchemaFile) async throws {
        try await naming(file) { try await connection.runScript(file.text) }
    }

    /// Prefixes PostgreSQL's error with the file's name, and names what depends on an object that the file drops, or on a column that gets
    /// another type. PostgreSQL refuses the latter as a missing feature, with the dependent object as the detail.
    nonisolated(nonsending) func naming<T: Sendable>(_ file: SchemaFile, _ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState == .dependentObjectsStillExist || error.sqlState == .featureNotSupported {
            // The detail of other missing features names what a step does wrong.
            guard let detail = error.refusal, error.sqlState != .featureNotSupported || detail.contains("depends on") else {
                throw SchemaError(.fileFailed, "\(file.name): \(error)", cause: error)
            }
            throw SchemaError(.hasDependents, "\(file.name): \(error): \(detail); \(Self.remedy)", cause: error)
        } catch let error as PostgresError {
            throw SchemaError(.fileFailed, "\(file.name): \(error)", cause: error)
        }
    }

    /// What to do about objects of others that depend on one that has to be dropped.
    static let remedy = "drop what depends on it, run migrate, and make it again"

    private func rollBack() async {
        do {
            try await connection.runScript("ROLLBACK")
        } catch {
            logger.debug("rollback failed: the connection is lost, and the transaction with it", metadata: ["error": "\(error)"])
        }
    }

    /// The transactions that have held locks on the schema for at least the lock timeout.
    private func lockHolders() async throws -> String {
        let rows = try await connection.query(
            """
            SELECT concat_ws(' ', 'pid', a.pid, a.usename, nullif(a.application_name, ''),
                             'since ' || date_trunc('second', a.xact_start)) AS holder
            FROM pg_catalog.pg_stat_activity AS a
            WHERE a.pid <> pg_backend_pid() AND a.datname = current_database()
              AND (a.xact_start < clock_timestamp() - \(lockTimeout.milliseconds) * interval '1 ms') IS NOT FALSE
              AND EXISTS (SELECT FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_class AS c ON c.oid = l.relation
                          WHERE l.pid = a.pid AND l.granted AND c.relnamespace = 'appstore'::regnamespace)
            ORDER BY a.xact_start
            LIMIT 5
            """
        )
        guard !rows.isEmpty else { return "the transaction that held it has ended" }
        return "held by " + (try rows.map { try $0.decode("holder", as: String.self) }.joined(separator: ", "))
    }
}

extension SchemaMigrator {
    /// Makes the publication of the feed for logical replication, or brings it up to date.
    ///
    /// - Parameter withUsers: whether subscribers get the names of users.
    /// - Returns: the server's `wal_level`.
    package func publishFeed(withUsers: Bool) async throws -> String {
        try await actAsOwner()
        try await transaction("publication") { try await connection.execute("SELECT appstore.publish_feed(\(withUsers))") }
        let rows = try await connection.query("SELECT current_setting('wal_level') AS level")
        try await connection.runScript("RESET ROLE; RESET ALL")
        return try rows[0].decode("level")
    }
}
