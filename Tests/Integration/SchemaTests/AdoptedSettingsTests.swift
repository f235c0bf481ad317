import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Testing

/// Programs that do not log in as their roles: PostgreSQL does not apply the roles' settings to them.
struct AdoptedSettingsTests {
    static let roles = ["appstore_ingest", "appstore_worker", "appstore_api", "appstore_operator", "appstore_console"]

    /// The settings that PostgreSQL applies to a login as the role.
    private func settings(of role: String, in database: TestDatabase) async throws -> [String: String] {
        try await database.withConnection(user: role) { connection in
            let rows = try await connection.query("SELECT name, setting FROM pg_settings WHERE source = 'user'")
            return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.decode("name"), try $0.decode("setting")) })
        }
    }

    /// A login that is a member of the role and starts as a program does.
    private func login(
        memberOf role: String,
        in database: TestDatabase,
        setsRole: Bool = false,
        own: String? = nil
    ) async throws -> ConnectionOptions {
        let name = "login_\(database.name)"
        try await database.run("CREATE ROLE \(name) LOGIN; GRANT \(role) TO \(name);" + (own.map { "ALTER ROLE \(name) SET \($0)" } ?? ""))
        var options = try ConnectionOptions(database.url(user: name) + (setsRole ? "&options=-c%20role%3D\(role)" : ""))
        options.opening = Statement.adoptRoleSettings(role: role)
        return options
    }

    private func settings(_ names: some Sequence<String>, on connection: Connection) async throws -> [String: String] {
        let rows = try await connection.query("SELECT name, setting FROM pg_settings WHERE name = ANY (\(Array(names)))")
        return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.decode("name"), try $0.decode("setting")) })
    }

    @Test(arguments: roles, [false, true])
    func `a login that acts as a role has the role's settings`(role: String, setsRole: Bool) async throws {
        let database = try await InboxDatabase.make()
        let expected = try await settings(of: role, in: database)
        #expect(expected.count >= 5)
        let connection = try await Connection.open(login(memberOf: role, in: database, setsRole: setsRole), logger: .silent)
        #expect(try await settings(expected.keys, on: connection) == expected)
        await connection.close()
    }

    @Test func `a worker under SET ROLE looks up keys by index and waits two seconds for a lock, in every connection of its pool`()
        async throws
    {
        let database = try await InboxDatabase.make()
        let options = try await login(memberOf: "appstore_worker", in: database, setsRole: true)
        let pool = ConnectionPool(options: options, configuration: .init(maxConnections: 2), logger: .silent)
        let wanted = ["plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off", "lock_timeout": "2000"]
        let found = try await pool.withConnection { first in
            try await pool.withConnection { second in
                [try await settings(wanted.keys, on: first), try await settings(wanted.keys, on: second)]
            }
        }
        #expect(found == [wanted, wanted])
        await pool.close()
    }

    @Test func `settings of the login itself take precedence`() async throws {
        let database = try await InboxDatabase.make()
        let options = try await login(memberOf: "appstore_worker", in: database, own: "lock_timeout = '9s'")
        let connection = try await Connection.open(options, logger: .silent)
        let found = try await settings(["lock_timeout", "jit"], on: connection)
        #expect(found == ["lock_timeout": "9000", "jit": "off"])
        await connection.close()
    }

    @Test(arguments: roles) func `a login as the role itself changes nothing in its session`(role: String) async throws {
        let database = try await InboxDatabase.make()
        var options = try ConnectionOptions(database.url(user: role))
        options.opening = Statement.adoptRoleSettings(role: role)
        let connection = try await Connection.open(options, logger: .silent)
        #expect(try await connection.query("SELECT FROM pg_settings WHERE source = 'session'").count == 0)
        await connection.close()
    }
}
