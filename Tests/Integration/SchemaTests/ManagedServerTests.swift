import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema
import Testing

/// A hosted PostgreSQL, whose superuser is the host's: the customer's role may make roles and databases, and nothing more.
struct ManagedServerTests {
    private static let logins = "CREATE ROLE customer LOGIN CREATEROLE CREATEDB; CREATE ROLE colleague LOGIN CREATEROLE"

    @Test func `a role that may create roles and owns the database makes the schema and upgrades it`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let server = try await Session(cluster, "postgres", "postgres")
        try await server.connection.runScript(Self.logins)
        let customer = try await Session(cluster, "postgres", "customer")
        try await customer.connection.runScript("CREATE DATABASE shop ENCODING 'UTF8' TEMPLATE template0")

        let first = try await Session(cluster, "shop", "customer").migrate()
        #expect(first.created == SchemaManifest().version)
        #expect(try await Session(cluster, "shop", "customer").migrate().isEmpty)
        // Each role has its settings.
        let worker = try await Session(cluster, "shop", "appstore_worker")
        let timeout = try await worker.connection.query("SELECT current_setting('statement_timeout')")[0].decode(0, as: String.self)
        #expect(timeout == "30s")

        // Another role with CREATEROLE may do nothing with roles that it has not made, where PostgreSQL asks for the ADMIN option.
        let version = try await server.connection.query("SHOW server_version_num")[0].decode(0, as: String.self)
        if version >= "160000" {
            let refusal = await #expect(throws: SchemaError.self) { try await Session(cluster, "shop", "colleague").migrate() }
            #expect(refusal?.code == .notPermitted)
            #expect(refusal?.description.contains("as one of these GRANT appstore_owner TO colleague") == true)
            try await customer.connection.runScript("GRANT appstore_owner TO colleague")
        }
        #expect(try await Session(cluster, "shop", "colleague").migrate().isEmpty)
    }

    @Test func `a role that may create roles migrates a schema whose roles a superuser has made`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let server = try await Session(cluster, "postgres", "postgres")
        try await server.connection.runScript(Self.logins)
        try await server.connection.runScript("CREATE DATABASE shop ENCODING 'UTF8' TEMPLATE template0")
        let roles = try await Session(cluster, "shop", "postgres")
        try await roles.connection.runScript("BEGIN;\n\(SchemaManifest().roles.text)\nCOMMIT; GRANT appstore_owner TO customer")
        #expect(try await Session(cluster, "shop", "customer").migrate().created == SchemaManifest().version)
    }

    @Test func `migrate says what only a superuser can grant`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let server = try await Session(cluster, "postgres", "postgres")
        try await server.connection.runScript(Self.logins)
        try await server.connection.runScript("CREATE DATABASE shop ENCODING 'UTF8' TEMPLATE template0 OWNER customer")
        var options = try ConnectionOptions(cluster.url(database: "shop", user: "customer"))
        options.logsNotices = true
        let log = CapturedLog()
        let connection = try await Connection.open(options, logger: log.logger)
        _ = try await SchemaMigrator(connection: connection, logger: .silent).migrate()
        await connection.close()
        #expect(log.text.contains("as a superuser, GRANT SET ON PARAMETER log_error_verbosity"), "\(log.text)")
    }

    @Test func `a role that does not own the database learns what to grant`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let server = try await Session(cluster, "postgres", "postgres")
        try await server.connection.runScript(Self.logins)
        try await server.connection.runScript("CREATE DATABASE shop ENCODING 'UTF8' TEMPLATE template0")
        let refusal = await #expect(throws: SchemaError.self) { try await Session(cluster, "shop", "customer").migrate() }
        #expect(refusal?.code == .notPermitted)
        let remedy = "GRANT CREATE ON DATABASE shop TO appstore_owner"
        #expect(refusal?.description.contains("run sql/roles.sql in it, or \(remedy) (") == true, "\(refusal?.description ?? "")")
        // The attempt has made no role.
        try await server.connection.runScript("CREATE ROLE appstore_owner; GRANT appstore_owner TO customer WITH ADMIN OPTION; \(remedy)")
        #expect(try await Session(cluster, "shop", "customer").migrate().created == SchemaManifest().version)
    }

    @Test func `a role that may not change the roles of others learns what to grant`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let server = try await Session(cluster, "postgres", "postgres")
        try await server.connection.runScript(Self.logins + "; CREATE ROLE appstore_owner; CREATE ROLE appstore_viewer LOGIN")
        try await server.connection.runScript("CREATE DATABASE shop ENCODING 'UTF8' TEMPLATE template0 OWNER customer")
        let version = try await server.connection.query("SHOW server_version_num")[0].decode(0, as: String.self)
        if version >= "160000" {
            let refusal = await #expect(throws: SchemaError.self) { try await Session(cluster, "shop", "customer").migrate() }
            #expect(refusal?.code == .rolesMissing)
            let remedy = "GRANT appstore_owner, appstore_viewer TO customer WITH ADMIN OPTION"
            let text = refusal?.description ?? ""
            #expect(text.hasSuffix("run sql/roles.sql as a superuser, or \(remedy)"), "\(text)")
            try await server.connection.runScript(remedy)
        }
        #expect(try await Session(cluster, "shop", "customer").migrate().created == SchemaManifest().version)
    }

    /// A session that ends with its test's cluster.
    private struct Session {
        let connection: Connection

        init(_ cluster: TestCluster, _ database: String, _ user: String) async throws {
            connection = try await Connection.open(ConnectionOptions(cluster.url(database: database, user: user)), logger: .silent)
        }

        func migrate() async throws -> SchemaChanges {
            try await SchemaMigrator(connection: connection, logger: .silent).migrate()
        }
    }
}
