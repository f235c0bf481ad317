import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema
import Testing

struct SchemaMigratorTests {
    /// The objects that a second run must not change, by OID and by the transaction that wrote them.
    private static let catalogue: Statement = """
        SELECT c.oid || ' ' || c.xmin FROM pg_class AS c WHERE c.relnamespace = 'appstore'::regnamespace
        UNION ALL SELECT p.oid || ' ' || p.xmin FROM pg_proc AS p WHERE p.pronamespace = 'appstore'::regnamespace
        ORDER BY 1
        """

    @Test func `two concurrent runs create the schema once`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        async let first = database.migrate()
        async let second = database.migrate()
        let changes = try await [first, second]
        #expect(changes.count { $0.isEmpty } == 1)
        #expect(changes.compactMap(\.created) == [SchemaManifest().version])
        #expect(try await database.differences().isEmpty)
    }

    @Test func `a second run changes nothing`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let first = try await database.migrate()
        #expect(first.description == "The schema is made, in version \(SchemaManifest().version).")
        let before = try await database.lines(Self.catalogue)
        let second = try await database.migrate()
        #expect(second.isEmpty && second.description == "The schema is current.")
        #expect(before.count > 100)
        #expect(try await database.lines(Self.catalogue) == before)
    }

    @Test(arguments: [("SELECT", false), ("CREATE TABLE public.mine ()", true)])
    func `no role may make temporary tables in a database that has no other tables`(before: String, mayStill: Bool) async throws {
        let database = try await TestCluster.shared.makeDatabase()
        try await database.run(before)
        try await database.migrate()
        for role in ["ingest", "worker", "operator", "backend", "api"] {
            let error = try await database.withConnection(user: "appstore_\(role)") { connection -> PostgresError? in
                do {
                    try await connection.execute("CREATE TEMPORARY TABLE mine ()")
                    return nil
                } catch let error as PostgresError {
                    return error
                }
            }
            #expect(error?.sqlState == (mayStill ? nil : .insufficientPrivilege), "\(role)")
        }
    }

    @Test func `the created schema has the fingerprint of the program`() async throws {
        let database = try await InboxDatabase.make()
        let found = SchemaFingerprint(try await database.fingerprint().joined(separator: "\n"))
        #expect(SchemaManifest().fingerprint == found, "deploy/schema --write renews sql/fingerprint.txt")
    }

    private static let hasICU = { @Sendable () async throws -> Bool in try await TestCluster.shared.hasICU() }

    @Test(.enabled("PostgreSQL is built with ICU", hasICU)) func `the schema is the same in a database with an ICU collation`() async throws
    {
        let database = try await InboxDatabase.make()
        let other = try await TestCluster.shared.makeDatabase(options: "LOCALE_PROVIDER icu ICU_LOCALE 'en-US'")
        try await other.migrate()
        #expect(try await other.fingerprint() == database.fingerprint())
        #expect(try await other.migrate().isEmpty)
    }

    @Test func `a database that is newer than the program is left alone`() async throws {
        let database = try await InboxDatabase.make()
        try await database.run("INSERT INTO appstore.schema_history (version, name, is_breaking) VALUES (9999, 'tomorrow', false)")
        let before = try await database.lines(Self.catalogue)
        let error = await #expect(throws: SchemaError.self) { try await database.migrate() }
        #expect(error?.code == .databaseIsNewer)
        #expect(try await database.lines(Self.catalogue) == before)
    }

    @Test func `a schema that no release has created is left alone`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        try await database.run("CREATE SCHEMA appstore; CREATE TABLE appstore.schema_migrations (version integer)")
        let error = await #expect(throws: SchemaError.self) { try await database.migrate() }
        #expect(error?.code == .unknownSchema)
    }

    @Test func `a database of another encoding than UTF8 is refused`() async throws {
        let database = try await TestCluster.shared.makeDatabase(options: "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
        let error = await #expect(throws: SchemaError.self) { try await database.migrate() }
        #expect(error?.code == .wrongEncoding)
        #expect(error?.description.contains("TEMPLATE template0") == true)
    }

    @Test func `a member of the owner can migrate once the roles exist`() async throws {
        _ = try await InboxDatabase.make()
        let database = try await TestCluster.shared.makeDatabase()
        try await database.run(
            """
            CREATE ROLE schema_tests_deployer LOGIN IN ROLE appstore_owner;
            GRANT CREATE ON DATABASE \(database.name) TO appstore_owner;
            """
        )
        #expect(try await database.migrate(user: "schema_tests_deployer").created != nil)
        let error = await #expect(throws: SchemaError.self) { try await database.migrate(user: "appstore_viewer") }
        #expect(error?.description.contains("GRANT appstore_owner TO appstore_viewer") == true)
    }

    @Test func `privileges of a role of others are not compared, whatever its name is`() async throws {
        let database = try await InboxDatabase.make()
        let role = "appstore_\(database.name)"
        try await database.run("CREATE ROLE \(role); GRANT SELECT ON appstore.payments TO \(role)")
        #expect(try await database.differences() == [])
        #expect(try await database.migrate().isEmpty)
        try await database.run("DROP OWNED BY \(role); DROP ROLE \(role)")
    }

    @Test func `migrate fails while a table is locked, and names the lock holder`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_viewer") { viewer in
            try await viewer.withTransaction { transaction in
                _ = try await transaction.query("SELECT FROM appstore.inbox_status")
                let error = await #expect(throws: SchemaError.self) {
                    try await database.migrate(SchemaManifest().defining(""), lockTimeout: .milliseconds(200))
                }
                #expect(error?.code == .locked)
                #expect(error?.description.contains("appstore_viewer") == true, "\(error?.description ?? "")")
                // migrate left the lock queue: the next session does not wait behind it.
                #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_status") == ["0"])
            }
        }
        #expect(try await database.migrate(SchemaManifest().defining("")).isRedefined)
    }
}
