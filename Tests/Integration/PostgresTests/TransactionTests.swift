import Postgres
import PostgresTesting
import Testing

@Suite struct TransactionTests {
    private struct Refusal: Error {}

    @Test func `a transaction is committed when its body returns and rolled back when it throws`() async throws {
        try await withTable { connection in
            let value = try await connection.withTransaction { transaction in
                try await transaction.execute("INSERT INTO t VALUES (\(1)), (\(2))")
            }
            #expect(value == 2)
            await #expect(throws: Refusal.self) {
                try await connection.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (\(3))")
                    throw Refusal()
                }
            }
            #expect(try await ids(connection) == [1, 2])
            #expect(connection.isReusable)
        }
    }

    @Test func `a transaction is read committed, whatever the default isolation level`() async throws {
        try await withTable { connection in
            try await connection.execute("SET default_transaction_isolation = 'serializable'")
            let level = try await connection.withTransaction { transaction in
                try await transaction.query("SELECT current_setting('transaction_isolation')")[0].decode(0, as: String.self)
            }
            #expect(level == "read committed")
        }
    }

    @Test func `a transaction without statements leaves the connection reusable`() async throws {
        try await withTable { connection in
            try await connection.withTransaction { _ in }
            await #expect(throws: Refusal.self) { try await connection.withTransaction { _ in throw Refusal() } }
            #expect(connection.isReusable)
        }
    }

    @Test func `a transaction counts its round trips, and returns nil while one is in flight`() async throws {
        try await withTable { connection in
            try await connection.withTransaction { transaction in
                let before = try #require(transaction.exchanges)
                try await transaction.execute("SELECT 1")
                #expect(transaction.exchanges == before + 1)
                async let slow = transaction.execute("SELECT pg_sleep(1)")
                while transaction.exchanges != nil { await Task.yield() }
                _ = try await slow
                #expect(transaction.exchanges == before + 2)
            }
        }
    }

    @Test func `the statements of a body share one transaction, and later ones do not`() async throws {
        try await withTable { connection in
            let states: Statement = "SELECT txid_current()"
            let inside = try await connection.withTransaction { transaction in
                let first: Int64 = try await transaction.query(states)[0].decode(0)
                let second: Int64 = try await transaction.pipeline([states])[0][0].decode(0)
                return [first, second]
            }
            let outside: Int64 = try await connection.query(states)[0].decode(0)
            #expect(inside[0] == inside[1])
            #expect(outside != inside[0])
        }
    }

    @Test func `a deferred constraint that fails at COMMIT is an error`() async throws {
        try await withTable { connection in
            try await connection.execute("CREATE TABLE child (id int8 REFERENCES t DEFERRABLE INITIALLY DEFERRED)")
            let error = try await postgresError {
                try await connection.withTransaction { try await $0.execute("INSERT INTO child VALUES (\(9))") }
            }
            #expect(error.code == .sql)
            #expect(error.sqlState == .foreignKeyViolation)
            #expect(error.constraint == "child_id_fkey")
            #expect(connection.isReusable)
            #expect(try await connection.query("SELECT FROM child").isEmpty)
        }
    }

    @Test func `a COMMIT that rolls back because the body swallowed an error is an error`() async throws {
        try await withTable { connection in
            let error = try await postgresError {
                try await connection.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (\(1))")
                    await #expect(throws: PostgresError.self) { try await transaction.execute("SELECT 1 / \(0)") }
                }
            }
            #expect(error.code == .rolledBack)
            #expect(!error.isRetryable)
            #expect(connection.isReusable)
            #expect(try await ids(connection).isEmpty)
        }
    }

    @Test func `a COMMIT whose answer is lost is uncertain`() async throws {
        try await withTable { connection, database in
            try await connection.runScript(
                """
                CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
                  $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER die AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die();
                """
            )
            let terminated = try await connect(database)
            let error = try await postgresError {
                try await terminated.withTransaction { try await $0.execute("INSERT INTO t VALUES (\(1))") }
            }
            #expect(error.code == .commitUncertain)
            #expect(!error.isRetryable)
            #expect(error.isConnectionLoss)
            #expect(!terminated.isReusable)
        }
    }

    @Test func `a transaction cannot be bypassed, nested, or used after its end`() async throws {
        try await withTable { connection in
            var escaped: Transaction?
            try await connection.withTransaction { transaction in
                try await transaction.execute("INSERT INTO t VALUES (\(1))")
                #expect(try await postgresError { try await connection.query("SELECT 1") }.code == .misuse)
                #expect(try await postgresError { try await connection.runScript("SELECT 1") }.code == .misuse)
                let inner = try await postgresError { try await connection.withTransaction { try await $0.query("SELECT 1") } }
                #expect(inner.code == .misuse)
                escaped = transaction
            }
            let late = try #require(escaped)
            #expect(try await postgresError { try await late.query("SELECT 1") }.code == .misuse)
            let ended = try await postgresError {
                try await connection.withTransaction { transaction in
                    try await transaction.execute("COMMIT")
                    try await transaction.execute("INSERT INTO t VALUES (\(2))")
                }
            }
            #expect(ended.code == .misuse)
            #expect(try await ids(connection) == [1])
        }
    }

    @Test func `concurrent statements of a transaction all run in it`() async throws {
        try await withTable { connection in
            try await connection.withTransaction { transaction in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for id in 0..<20 { group.addTask { try await transaction.execute("INSERT INTO t VALUES (\(id))") } }
                    try await group.waitForAll()
                }
            }
            #expect(try await ids(connection) == Array(0..<20))
            #expect(try await connection.query("SELECT DISTINCT xmin::text FROM t").count == 1)
        }
    }

    private func withTable(_ body: (Connection) async throws -> Void) async throws {
        try await withTable { connection, _ in try await body(connection) }
    }

    private func withTable(_ body: (Connection, TestDatabase) async throws -> Void) async throws {
        try await withConnection { connection, database in
            try await connection.execute("CREATE TABLE t (id int8 PRIMARY KEY)")
            try await body(connection, database)
        }
    }

    private func ids(_ connection: Connection) async throws -> [Int] {
        try await connection.query("SELECT id FROM t ORDER BY id").map { try $0.decode(0, as: Int.self) }
    }
}
