import Foundation
import Postgres
import PostgresTesting
import Testing

@Suite struct ConnectionOptionsTests {
    @Test(arguments: [
        "postgresql://u:hunter2@host:notaport/db",
        "postgresql://u:hun@ter2@host/db",
        "postgresql://u:hunter2/x@host/db",
        "postgresql://u:hunter2@[::1/db",
        "postgresql://u:hunter2%zz@host/db",
        "postgresql://u@host/db?passwort=hunter2",
        "postgresql://u@host/db?password=hunter2&password",
        "host=a password=hunter2 ter2",
        "host=a password='hunter2",
        "host=a password=x hunter2=y",
        "host=a PASSWORD=hunter2",
        "host=a port=70000 password=hunter2",
        "password=hunter2 sslmode=sure",
    ])
    func `the error for an invalid connection string does not contain its password`(conninfo: String) throws {
        let error = #expect(throws: PostgresError.self) { try ConnectionOptions(conninfo) }
        #expect(error?.code == .invalidOptions)
        for part in ["hunter2", "ter2", "hun"] { #expect(error?.description.contains(part) == false, "\(error?.description ?? "")") }
    }

    @Test(arguments: [
        ("host=a prot=1", "it contains an option that libpq does not know"), ("host=a port=x", "port must be a port from 1 to 65535"),
        ("target_session_attrs=rw", "target_session_attrs must be one of any, read-write"),
        ("sslmode=on", "sslmode must be one of disable"),
        ("connect_timeout=5s", "connect_timeout must be a whole number of seconds"), ("nonsense", "it must be key=value pairs"),
        ("postgre://u:hunter2@a/b", "a URL must begin with postgresql:// or postgres://"),
        ("postgresql://a/b?x", "each option after ? must be key=value"), ("postgresql://a/b?sslmod=x", "it contains an option after ?"),
        ("postgresql://u:a%zz@h/b", "a % must be followed by two hexadecimal digits"), ("host='a", "a quotation mark is not closed"),
        ("postgresql://a b/c", "a URL must not contain a space"),
        ("host=a;password=b", "host must be a single value; spaces stand between"),
        ("postgresql://u:1/x@h/b", "dbname must be the name of a database; in a password, @ is written %40"),
        ("postgresql://u%3Ax@h/b", "user must be the name of a role"), ("sslrootcert=/a;password=b", "sslrootcert must be a single value"),
    ])
    func `the error names the mistake in words that quote nothing`(conninfo: String, message: String) throws {
        let error = try #require(throws: PostgresError.self) { try ConnectionOptions(conninfo) }
        #expect(error.description.hasPrefix("connection string: \(message)"), "\(error)")
    }

    @Test func `host, database and user are those of the string`() throws {
        let options = try ConnectionOptions("postgresql://shop:hunter2@a,b:5433/db")
        #expect((options.host, options.database, options.user) == ("a,b", "db", "shop"))
        #expect(try ConnectionOptions("").host == nil)
    }

    @Test func `descriptions of options do not contain the password`() throws {
        let options = try ConnectionOptions("postgresql://u:hunter2@a,b:5433/db?target_session_attrs=read-write&sslpassword=hunter2")
        var dumped = ""
        dump(options, to: &dumped)
        for text in ["\(options)", String(reflecting: options), dumped] {
            #expect(text.contains("target_session_attrs=read-write"))
            #expect(!text.contains("hunter2"))
        }
    }

    @Test func `the error for a refused password does not contain it`() async throws {
        let rules = """
            host all guarded 127.0.0.1/32 scram-sha-256
            local all all trust

            """
        let cluster = try await TestCluster.startPrivate(accessRules: rules)
        let admin = try await Connection.open(ConnectionOptions(cluster.url(database: "postgres", user: "postgres")), logger: .silent)
        try await admin.runScript("CREATE ROLE guarded LOGIN PASSWORD 'correct horse'")
        let right = try ConnectionOptions("host=127.0.0.1 port=\(cluster.port) user=guarded dbname=postgres password='correct horse'")
        await (try Connection.open(right, logger: .silent)).close()
        let wrong = try ConnectionOptions("postgresql://guarded:hunter2@127.0.0.1:\(cluster.port)/postgres")
        let error = try await postgresError { try await Connection.open(wrong, logger: .silent) }
        #expect(error.code == .connectionFailed)
        #expect(error.isRetryable)
        #expect(error.description.contains("password authentication failed for user \"guarded\""))
        #expect(!error.description.contains("hunter2"))
        await admin.close()
        await cluster.stop()
    }

    @Test func `pg_stat_activity shows the application name`() async throws {
        let query: Statement = "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()"
        try await withConnection { connection, _ in
            let name: String = try await connection.query(query)[0].decode(0)
            #expect(name == "appstore-inbox")
        }
        try await withConnection(adjusting: { $0.applicationName = "worker" }) { connection, _ in
            let name: String = try await connection.query(query)[0].decode(0)
            #expect(name == "worker")
        }
    }

    @Test func `the first reachable host with the required session attributes is used`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let (dead, port) = (FreePort.find(), TestCluster.shared.port)
        let conninfo = "host=127.0.0.1,127.0.0.1 port=\(dead),\(port) user=postgres dbname=\(database.name)"
        let connection = try await Connection.open(ConnectionOptions(conninfo + " target_session_attrs=read-write"), logger: .silent)
        #expect(try await connection.query("SELECT 1").count == 1)
        await connection.close()
        let error = try await postgresError {
            try await Connection.open(ConnectionOptions(conninfo + " target_session_attrs=standby"), logger: .silent)
        }
        #expect(error.code == .connectionFailed)
        #expect(error.message.contains("port \(dead) failed: Connection refused; "))
        #expect(error.message.contains("server is not in hot standby mode"))
    }
}
