import PostgresTesting
import Synchronization
import Testing

@testable import Postgres

/// A COMMIT that waits for a missing standby: its backend does not notice that the client has timed out.
struct UnansweredCommitTests {
    /// Runs `body` with a server whose commits wait until ``answer(_:)``.
    private func withStuckServer(
        deadline: Duration = .seconds(2),
        _ body: (_ pool: ConnectionPool, _ admin: Connection) async throws -> Void
    ) async throws {
        let cluster = try await TestCluster.startPrivate(settings: ["synchronous_standby_names": "absent"])
        let url = cluster.url(database: "postgres", user: "postgres")
        let admin = try await Connection.open(ConnectionOptions(url + "&options=-csynchronous_commit%3Dlocal"), logger: .silent)
        try await admin.execute("CREATE TABLE t (id int8)")
        var options = try ConnectionOptions(url)
        options.applicationName = "pooled"
        options.statementDeadline = deadline
        let limits = ConnectionPool.Configuration(maxConnections: 2, acquireTimeout: .seconds(5))
        let pool = ConnectionPool(options: options, configuration: limits, logger: .silent)
        try await body(pool, admin)
        await pool.close()
        await admin.close()
        await cluster.stop()
    }

    private func insert(_ id: Int, through pool: ConnectionPool) async throws -> PostgresError.Code {
        try await postgresError { try await pool.withTransaction { try await $0.execute("INSERT INTO t VALUES (\(id))") } }.code
    }

    private func backends(_ admin: Connection) async throws -> Int {
        try await admin.query("SELECT FROM pg_stat_activity WHERE application_name = 'pooled'").count
    }

    /// Ends the wait of all commits, as if the standby were back.
    private func answer(_ admin: Connection) async throws {
        try await admin.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'pooled'")
    }

    @Test func `an unanswered COMMIT keeps its connection and its slot until it is answered`() async throws {
        try await withStuckServer { pool, admin in
            #expect(try await insert(1, through: pool) == .commitUncertain)
            #expect(try await backends(admin) == 1)
            // The other slot is taken, and this one is not free.
            try await pool.withConnection { _ in
                #expect(try await postgresError { try await pool.withConnection { _ in } }.code == .poolExhausted)
                #expect(pool.counts == ConnectionPool.Counts(opened: 2, failed: 0, lost: 1))
                #expect(pool.slots == ConnectionPool.Slots(leased: 1, unanswered: 1))
                try await answer(admin)
                try await eventually("a free slot") {
                    do {
                        return try await pool.withConnection { try await $0.query("SELECT id FROM t").count } == 1
                    } catch let error as PostgresError where error.code == .poolExhausted {
                        return false
                    }
                }
            }
            try await eventually("a backend for each slot") { try await backends(admin) == 2 }
        }
    }

    @Test func `the last slot stays usable while further commits are unanswered`() async throws {
        try await withStuckServer { pool, admin in
            for id in 1...3 {
                let code = try await insert(id, through: pool)
                #expect(code == .commitUncertain)
            }
            let rows = try await pool.withConnection { try await $0.query("SELECT FROM t").count }
            #expect(rows == 0)
            #expect(try await backends(admin) == 4)
        }
    }

    @Test func `the answer is detected behind statements that were sent with COMMIT`() async throws {
        try await withStuckServer { pool, admin in
            let pid = Atomic<Int32>(0)
            let error = try await postgresError {
                try await pool.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO t VALUES (1)")
                    pid.store(try await transaction.query("SELECT pg_backend_pid()")[0].decode(0), ordering: .relaxed)
                    try transaction.append(toCommit: ["INSERT INTO t VALUES (2)", "SELECT pg_sleep(3)", "INSERT INTO t VALUES (3)"])
                }
            }
            #expect(error.code == .commitUncertain)
            try await admin.awaitBackend(pid.load(ordering: .relaxed), in: "SyncRep")
            try await answer(admin)
            try await eventually("the answered backend has ended") { try await backends(admin) == 0 }
            #expect(try await admin.query("SELECT FROM t").count == 3)
        }
    }

    @Test func `closing a pool or connection does not wait for an unanswered COMMIT`() async throws {
        try await withStuckServer { pool, admin in
            let options = pool.options
            let connection = try await Connection.open(options, logger: .silent)
            let error = try await postgresError {
                try await connection.withTransaction { try await $0.execute("INSERT INTO t VALUES (1)") }
            }
            #expect(error.code == .commitUncertain)
            #expect(connection.isAwaitingCommit && !connection.isReusable)
            // The connection refuses statements until then.
            #expect(try await postgresError { try await connection.query("SELECT 1") }.code == .connectionLost)
            await connection.close()
            #expect(try await insert(2, through: pool) == .commitUncertain)
            await pool.close()
            #expect(try await insert(3, through: pool) == .closed)
        }
    }

    @Test func `a statement outside a transaction is not cancelled while its commit waits`() async throws {
        try await withStuckServer { pool, admin in
            let error = try await postgresError { try await pool.withConnection { try await $0.execute("INSERT INTO t VALUES (1)") } }
            #expect(error.code == .commitUncertain)
            #expect(pool.slots.unanswered == 1)
            let (pids, report) = AsyncStream.makeStream(of: Int32.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await pool.withConnection { connection in
                        report.yield(try await connection.backend())
                        await #expect(throws: CancellationError.self) { try await connection.execute("INSERT INTO t VALUES (2)") }
                    }
                }
                for await pid in pids {
                    try await admin.awaitBackend(pid, in: "SyncRep")
                    break
                }
                group.cancelAll()
                try await group.waitForAll()
            }
            try await expectTwoStuck(admin)
        }
    }

    @Test func `a task that is cancelled during COMMIT does not wait for the answer, and COMMIT is not cancelled`() async throws {
        try await withStuckServer(deadline: .seconds(60)) { pool, admin in
            let start = ContinuousClock.now
            let (pids, report) = AsyncStream.makeStream(of: Int32.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in 1...2 {
                    group.addTask {
                        let error = try await postgresError {
                            try await pool.withTransaction { transaction in
                                try await transaction.execute("INSERT INTO t VALUES (\(id))")
                                report.yield(try await transaction.query("SELECT pg_backend_pid()")[0].decode(0))
                            }
                        }
                        #expect(error.code == .commitUncertain)
                    }
                }
                var waiting = pids.makeAsyncIterator()
                for _ in 1...2 { try await admin.awaitBackend(#require(await waiting.next()), in: "SyncRep") }
                group.cancelAll()
                try await group.waitForAll()
            }
            #expect(start.duration(to: .now) < .seconds(40))
            try await expectTwoStuck(admin)
        }
    }

    /// Two backends wait for the standby, and no row is visible.
    private func expectTwoStuck(_ admin: Connection) async throws {
        #expect(try await admin.query("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'").count == 2)
        #expect(try await admin.query("SELECT FROM t").isEmpty)
    }

    @Test func `a task that is cancelled before COMMIT commits nothing`() async throws {
        try await TestCluster.shared.withDatabase { database in
            let connection = try await connect(database)
            try await connection.execute("CREATE TABLE t (id int8)")
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        try await connection.withTransaction { transaction in
                            try await transaction.execute("INSERT INTO t VALUES (1)")
                            withUnsafeCurrentTask { $0?.cancel() }
                        }
                    }
                }
            }
            #expect(try await connection.query("SELECT FROM t").isEmpty)
            #expect(connection.isReusable)
            await connection.close()
        }
    }

    @Test func `the slot is freed when the backend is terminated`() async throws {
        try await withStuckServer { pool, admin in
            #expect(try await insert(1, through: pool) == .commitUncertain)
            try await pool.withConnection { _ in
                try await admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pooled' AND wait_event = 'SyncRep'"
                )
                try await eventually("a free slot") {
                    do {
                        return try await pool.withConnection { try await $0.query("SELECT id FROM t").count } == 1
                    } catch let error as PostgresError where error.code == .poolExhausted {
                        return false
                    }
                }
            }
        }
    }
}
