import Foundation
import Postgres
import Testing

@Suite struct ConnectionTests {
    @Test func `an error contains the constraint and the SQLSTATE but no data`() async throws {
        try await withConnection { connection, _ in
            try await connection.runScript("CREATE TABLE t (name text CONSTRAINT t_name_key UNIQUE, id uuid);")
            let insert = Statement(name: "insert_t", "INSERT INTO t (name) VALUES (\("hunter2"))")
            try await connection.execute(insert)
            let error = try await postgresError { try await connection.execute(insert) }
            #expect(error.code == .sql)
            #expect(error.sqlState == .uniqueViolation)
            #expect(error.constraint == "t_name_key")
            #expect(error.statementName == "insert_t")
            #expect(!error.isRetryable && !error.isConnectionLoss)
            #expect(!error.description.contains("hunter2"))
            let cast = try await postgresError { try await connection.execute("SELECT \("hunter2")::uuid") }
            #expect(cast.description == "invalid input syntax for type uuid: (a value) (SQLSTATE 22P02)")
        }
    }

    @Test func `a pipeline stops at its first error and is rolled back`() async throws {
        try await withConnection { connection, _ in
            try await connection.execute("CREATE TABLE t (id int8 PRIMARY KEY)")
            let error = try await postgresError {
                try await connection.pipeline([
                    "INSERT INTO t VALUES (\(1))", Statement(name: "middle", "SELECT 1 / \(0)"), "INSERT INTO t VALUES (\(2))",
                ])
            }
            #expect(error.sqlState == SQLState(rawValue: "22012"))
            #expect(error.statementName == "middle")
            #expect(try await connection.query("SELECT FROM t").isEmpty)
            let results = try await connection.pipeline((1...500).map { "INSERT INTO t VALUES (\($0)) RETURNING id" })
            #expect(try results.map { try $0[0].decode(0, as: Int.self) } == Array(1...500))
        }
    }

    @Test func `a pipeline larger than all buffers does not deadlock`() async throws {
        let block = [UInt8](repeating: 7, count: 300_000)
        try await withConnection { connection, _ in
            let results = try await connection.pipeline((0..<40).map { _ in "SELECT \(block) AS block" })
            for rows in results { #expect(try rows[0].decode("block", as: [UInt8].self) == block) }
        }
    }

    @Test func `a large bind with a short answer is sent completely`() async throws {
        let block = [UInt8](repeating: 7, count: 20_000_000)
        try await withConnection { connection, _ in
            let length: Int = try await connection.query("SELECT length(\(block))")[0].decode(0)
            #expect(length == block.count)
        }
    }

    @Test func `a script runs many statements, and its error has a position`() async throws {
        try await withConnection { connection, _ in
            try await connection.runScript("CREATE TABLE a (id int8); CREATE TABLE b (id int8); INSERT INTO a VALUES (1), (2);")
            #expect(try await connection.query("SELECT FROM a").count == 2)
            let error = try await postgresError { try await connection.runScript("INSERT INTO a VALUES (3);\nINSRT INTO b;") }
            #expect(error.sqlState == SQLState(rawValue: "42601"))
            #expect(error.position == 27)
            #expect(try await connection.query("SELECT FROM a").count == 2)
        }
    }

    @Test(arguments: ["COPY t FROM STDIN", "COPY t TO STDOUT"]) func `COPY with the client is refused`(copy: String) async throws {
        try await withConnection { connection, database in
            try await connection.execute("CREATE TABLE t (id int8)")
            let other = try await connect(database)
            #expect(try await postgresError { try await connection.runScript(copy) }.code == .misuse)
            #expect(try await postgresError { try await other.execute("\(unsafeRaw: copy)") }.code == .misuse)
            await other.close()
        }
    }

    @Test func `a deferred constraint that fails at the sync is an error, and the connection stays usable`() async throws {
        try await withConnection { connection, _ in
            try await connection.runScript(
                "CREATE TABLE t (id int8 PRIMARY KEY); CREATE TABLE child (id int8 REFERENCES t DEFERRABLE INITIALLY DEFERRED)"
            )
            for _ in 0..<2 {
                let error = try await postgresError { try await connection.execute("INSERT INTO child VALUES (\(9))") }
                #expect(error.sqlState == .foreignKeyViolation)
                #expect(try await connection.query("SELECT \(4)::int8")[0].decode(0, as: Int.self) == 4)
            }
            #expect(try await connection.query("SELECT FROM child").isEmpty)
        }
    }

    @Test func `a plan that is stale after a table change is removed`() async throws {
        try await withConnection { connection, _ in
            try await connection.execute("CREATE TABLE t AS SELECT 7::int8 AS id")
            _ = try await connection.query("SELECT * FROM t")
            try await connection.execute("ALTER TABLE t ADD name text DEFAULT 'x'")
            let error = try await postgresError { try await connection.query("SELECT * FROM t") }
            #expect(error.sqlState == .featureNotSupported)
            #expect(error.isRetryable)
            let row = try await connection.query("SELECT * FROM t")[0]
            #expect(try row.decode("id", as: Int64.self) == 7 && row.decode("name", as: String.self) == "x")
            #expect(try await connection.query("SELECT FROM pg_prepared_statements WHERE statement = 'SELECT * FROM t'").count == 1)
        }
    }

    @Test func `after the server lost a prepared statement, the connection prepares none`() async throws {
        try await withConnection { connection, _ in
            let statement: Statement = "SELECT \(1)"
            _ = try await connection.query(statement)
            try await connection.runScript("DEALLOCATE ALL")
            let error = try await postgresError { try await connection.query(statement) }
            #expect(error.sqlState == .invalidStatementName)
            #expect(error.isRetryable)
            #expect(try await connection.query(statement).count == 1)
            #expect(try await connection.query("SELECT FROM pg_prepared_statements").isEmpty)
        }
    }

    @Test func `statements are prepared once, or never if preparing is disabled`() async throws {
        let names: Statement = "SELECT FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1%'"
        try await withConnection { connection, _ in
            for number in 0..<5 { _ = try await connection.query("SELECT \(number)") }
            _ = try await connection.query("SELECT \("text")")
            #expect(try await connection.query(names).count == 2)
        }
        try await withConnection(adjusting: { $0.prepared = false }) { connection, _ in
            for number in 0..<5 { _ = try await connection.query("SELECT \(number)") }
            #expect(try await connection.query(names).isEmpty)
        }
    }

    @Test func `plans beyond the limit are deallocated on the server`() async throws {
        try await withConnection { connection, _ in
            for number in 0..<300 { _ = try await connection.query("SELECT \(unsafeRaw: "\(number)")") }
            let count: Int = try await connection.query("SELECT count(*) FROM pg_prepared_statements")[0].decode(0)
            #expect((250...257).contains(count), "\(count)")
        }
    }

    @Test func `the error for a terminated backend is the server's`() async throws {
        try await withConnection { connection, database in
            let terminated = try await connect(database)
            let pid = try await terminated.backend()
            async let outcome = postgresError { try await terminated.query("SELECT pg_sleep(60)") }
            try await connection.awaitBackend(pid, in: "PgSleep")
            try await connection.execute("SELECT pg_terminate_backend(\(pid))")
            let error = try await outcome
            #expect(error.code == .connectionLost)
            #expect(error.sqlState == .adminShutdown)
            #expect(error.isRetryable && error.isConnectionLoss)
            #expect(!terminated.isReusable)
            #expect(try await postgresError { try await terminated.query("SELECT 1") }.isConnectionLoss)
            await terminated.close()
        }
    }

    @Test func `a statement over its deadline is cancelled on the server too`() async throws {
        try await withConnection { connection, database in
            let slow = try await connect(database) { $0.statementDeadline = .milliseconds(300) }
            let pid = try await slow.backend()
            let start = ContinuousClock.now
            let error = try await postgresError { try await slow.query(Statement(name: "nap", "SELECT pg_sleep(60)")) }
            #expect(error.code == .timeout)
            #expect(error.isRetryable)
            #expect(ContinuousClock.now - start < .seconds(5))
            #expect(!slow.isReusable)
            try await connection.awaitEnd(of: pid)
        }
    }

    @Test func `a cancelled task returns at once and its statement is cancelled`() async throws {
        try await withConnection { connection, database in
            let slow = try await connect(database)
            let pid = try await slow.backend()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await #expect(throws: CancellationError.self) { try await slow.query("SELECT pg_sleep(60)") } }
                await #expect(throws: Never.self) { try await connection.awaitBackend(pid, in: "PgSleep") }
                group.cancelAll()
            }
            try await connection.awaitEnd(of: pid)
            #expect(!slow.isReusable)
        }
    }

    @Test func `a cancelled task whose statement is still queued does not break the connection`() async throws {
        try await withConnection { connection, database in
            let busy = try await connect(database)
            let pid = try await busy.backend()
            async let nap = busy.query("SELECT pg_sleep(0.5)")
            try await connection.awaitBackend(pid, in: "PgSleep")
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await #expect(throws: CancellationError.self) { try await busy.query("SELECT 1") } }
                group.cancelAll()
            }
            #expect(try await nap.count == 1)
            #expect(busy.isReusable)
            await busy.close()
        }
    }

    @Test func `close refuses queued statements and lets the one in flight finish`() async throws {
        try await withConnection { connection, database in
            let busy = try await connect(database)
            let pid = try await busy.backend()
            async let nap = busy.query("SELECT pg_sleep(0.3)")
            try await connection.awaitBackend(pid, in: "PgSleep")
            async let refused = postgresError { try await busy.query("SELECT 1") }
            await busy.close()
            #expect(try await nap.count == 1)
            #expect(try await refused.code == .closed)
            #expect(try await postgresError { try await busy.query("SELECT 1") }.code == .closed)
        }
    }
}
