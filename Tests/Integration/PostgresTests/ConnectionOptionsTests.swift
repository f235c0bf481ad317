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
        ("host=a prot=1", #"connection string: invalid connection option "prot""#),
        ("host=a port=x", #"connection string: port must be a port from 1 to 65535, or several with commas between; it is "x""#),
        ("target_session_attrs=rw", #"connection string: target_session_attrs must be one of any, read-write"#),
        ("sslmode=on", #"connection string: sslmode must be one of disable, allow"#),
        ("connect_timeout=5s", #"connection string: connect_timeout must be a whole number of seconds; it is "5s""#),
        ("nonsense", #"connection string: missing "=" after "nonsense" in connection info string"#),
    ])
    func `the error names the mistake`(conninfo: String, message: String) throws {
        let error = #expect(throws: PostgresError.self) { try ConnectionOptions(conninfo) }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
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
