import Postgres
import PostgresTesting
import Testing

@Suite struct RestartTests {
    @Test(arguments: [true, false]) func `a pool works again after a crash or restart of the server`(isCrash: Bool) async throws {
        let cluster = try await TestCluster.startPrivate()
        let database = try await cluster.makeDatabase()
        let pool = ConnectionPool(options: try ConnectionOptions(database.url()), logger: .silent)
        try await pool.withConnection { try await $0.runScript("CREATE TABLE t (id int8 PRIMARY KEY)") }
        async let interrupted = postgresError { try await pool.withConnection { try await $0.query("SELECT pg_sleep(60)") } }
        try await pool.withConnection { connection in
            try await eventually("a backend in PgSleep") {
                try await connection.query("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'").count == 1
            }
        }
        if isCrash { await cluster.kill() } else { await cluster.stop() }
        let lost = try await interrupted
        #expect(lost.isConnectionLoss && lost.isRetryable, "\(lost)")
        let refused = try await postgresError { try await pool.withConnection { try await $0.backend() } }
        #expect(refused.code == .connectionFailed)
        #expect(refused.isRetryable && refused.isConnectionLoss)
        try await cluster.launch()
        try await pool.withTransaction { try await $0.execute("INSERT INTO t VALUES (\(1))") }
        #expect(try await pool.withConnection { try await $0.query("SELECT FROM t") }.count == 1)
        await pool.close()
        await cluster.stop()
    }

    @Test func `a transaction during which the server is killed is lost as a whole`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let database = try await cluster.makeDatabase()
        let connection = try await connect(database)
        try await connection.execute("CREATE TABLE t (id int8)")
        let error = try await postgresError {
            try await connection.withTransaction { transaction in
                try await transaction.execute("INSERT INTO t VALUES (\(1))")
                await cluster.kill()
                try await transaction.execute("INSERT INTO t VALUES (\(2))")
            }
        }
        #expect(error.code == .connectionLost)
        #expect(!connection.isReusable)
        try await cluster.launch()
        let survivor = try await connect(database)
        #expect(try await survivor.query("SELECT FROM t").isEmpty)
        await survivor.close()
        await cluster.stop()
    }

    @Test func `a commit without a standby's confirmation is uncertain`() async throws {
        let cluster = try await TestCluster.startPrivate(settings: ["synchronous_standby_names": "absent"])
        let admin = try await Connection.open(
            ConnectionOptions(cluster.url(database: "postgres", user: "postgres") + "&options=-csynchronous_commit%3Dlocal"),
            logger: .silent
        )
        try await admin.execute("CREATE TABLE t (id int8)")
        let options = try ConnectionOptions(cluster.url(database: "postgres", user: "postgres"))
        for inTransaction in [true, false] {
            let connection = try await Connection.open(options, logger: .silent)
            let pid = try await connection.backend()
            async let outcome = postgresError {
                if inTransaction {
                    return try await connection.withTransaction { try await $0.execute("INSERT INTO t VALUES (\(1))") }
                }
                return try await connection.execute("INSERT INTO t VALUES (\(2))")
            }
            try await admin.awaitBackend(pid, in: "SyncRep")
            try await admin.execute("SELECT pg_cancel_backend(\(pid))")
            let error = try await outcome
            #expect(error.code == .commitUncertain)
            #expect(!error.isRetryable)
            await connection.close()
        }
        #expect(try await admin.query("SELECT FROM t").count == 2)
        await admin.close()
        await cluster.stop()
    }
}
