import PostgresTesting
import Randomness
import ServiceLifecycle
import Synchronization
import Testing

@testable import Postgres
@testable import ServiceSupport

@Suite struct PoolTests {
    @Test func `connections are reused, and never exceed the limit`() async throws {
        try await withPool(ConnectionPool.Configuration(maxConnections: 3)) { pool, _ in
            let pids = try await withThrowingTaskGroup(of: Int32.self) { group in
                for _ in 0..<30 {
                    group.addTask {
                        try await pool.withConnection { connection in
                            let count = try await connection.query(
                                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
                            ).count
                            #expect(count <= 3)
                            return try await connection.backend()
                        }
                    }
                }
                return try await group.reduce(into: Set<Int32>()) { $0.insert($1) }
            }
            #expect(pids.count <= 3)
        }
    }

    @Test func `the users of a share take no connection from others, whatever happens to theirs`() async throws {
        try await withPool(ConnectionPool.Configuration(maxConnections: 3)) { pool, _ in
            let share = pool.share(of: 2)
            let inUse = Count()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        _ = try? await share.withConnection { connection in
                            #expect(inUse.add(1) <= 2)
                            defer { inUse.add(-1) }
                            // Some break their connection.
                            let end = number.isMultiple(of: 5) ? "pg_terminate_backend(pg_backend_pid())" : "1"
                            _ = try await connection.query("SELECT \(unsafeRaw: end)")
                        }
                    }
                    // The third connection is there for others meanwhile.
                    group.addTask { _ = try await pool.withConnection { try await $0.query("SELECT 1") } }
                }
                try await group.waitForAll()
            }
            try await share.withConnection { _ in
                try await share.withConnection { _ in
                    let others = try await pool.withConnection { try await $0.backend() }
                    #expect(others > 0)
                    #expect(pool.slots.leased == 2)
                }
            }
        }
    }

    @Test func `a task that waits too long for its share is told the limit of the share`() async throws {
        try await withPool(ConnectionPool.Configuration(maxConnections: 3)) { pool, _ in
            let share = pool.share(of: 1, acquireTimeout: .milliseconds(100))
            let error = try await share.withConnection { _ in
                try await postgresError { try await share.withConnection { try await $0.backend() } }
            }
            #expect(error.code == .poolExhausted)
            #expect(error.message.hasSuffix("all 1 are in use"))
        }
    }

    @Test func `opened, failed and lost connections are counted`() async throws {
        try await withPool(ConnectionPool.Configuration(maxConnections: 1)) { pool, database in
            for _ in 0..<3 { _ = try await pool.withConnection { try await $0.backend() } }
            #expect(pool.counts == ConnectionPool.Counts(opened: 1, failed: 0, lost: 0))
            _ = try? await pool.withConnection { try await $0.query("SELECT pg_terminate_backend(pg_backend_pid())") }
            #expect(pool.counts == ConnectionPool.Counts(opened: 1, failed: 0, lost: 1))
            _ = try await pool.withConnection { try await $0.backend() }
            #expect(pool.counts == ConnectionPool.Counts(opened: 2, failed: 0, lost: 1))
        }
        let nowhere = ConnectionPool(options: try ConnectionOptions("host=/nonexistent"), logger: .silent)
        for _ in 0..<2 { _ = await #expect(throws: PostgresError.self) { try await nowhere.withConnection { try await $0.backend() } } }
        #expect(nowhere.counts == ConnectionPool.Counts(opened: 0, failed: 2, lost: 0))
    }

    @Test func `a task that waits too long gets an error and leaves the queue`() async throws {
        let configuration = ConnectionPool.Configuration(maxConnections: 1, acquireTimeout: .seconds(1.5))
        try await withPool(configuration) { pool, _ in
            let error = try await pool.withConnection { _ in
                try await postgresError { try await pool.withConnection { try await $0.backend() } }
            }
            #expect(error.code == .poolExhausted)
            #expect(error.isRetryable)
            _ = try await pool.withConnection { try await $0.backend() }
        }
    }

    @Test func `a cancelled task leaves the queue without a connection`() async throws {
        try await withPool(ConnectionPool.Configuration(maxConnections: 1)) { pool, _ in
            try await pool.withConnection { _ in
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<10 {
                        group.addTask {
                            await #expect(throws: CancellationError.self) { try await pool.withConnection { try await $0.backend() } }
                        }
                    }
                    group.cancelAll()
                }
            }
            _ = try await pool.withConnection { try await $0.backend() }
        }
    }

    @Test func `cancellation at any moment leaks no connection`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        try await withPool(ConnectionPool.Configuration(maxConnections: 2)) { pool, _ in
            for round in 0..<400 {
                let yields = Int.random(in: 0..<40, using: &generator)
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<5 {
                        group.addTask {
                            _ = try? await pool.withConnection { connection in
                                // In some rounds cancellation breaks the connection, so that opening new ones is cancelled too.
                                if round.isMultiple(of: 20) { _ = try await connection.query("SELECT 1") }
                            }
                        }
                    }
                    for _ in 0..<yields { await Task.yield() }
                    group.cancelAll()
                }
            }
            async let first = pool.withConnection { try await $0.query("SELECT 1").count }
            async let second = pool.withConnection { try await $0.query("SELECT 1").count }
            let counts = try await [first, second]
            #expect(counts == [1, 1], "seed \(seed)")
        }
    }

    @Test func `a connection that died while idle is not leased`() async throws {
        try await withPool(ConnectionPool.Configuration(maxConnections: 2)) { pool, database in
            let admin = try await connect(database)
            for _ in 0..<5 {
                let pid = try await pool.withConnection { try await $0.backend() }
                try await admin.execute("SELECT pg_terminate_backend(\(pid))")
                try await admin.awaitEnd(of: pid)
                let next = try await pool.withConnection { try await $0.backend() }
                #expect(next != pid)
            }
            await admin.close()
        }
    }

    @Test func `a broken connection, or one left in a transaction, is not leased again`() async throws {
        try await withPool(ConnectionPool.Configuration(maxConnections: 1)) { pool, _ in
            let first = try await pool.withConnection { connection in
                try await connection.execute("BEGIN")
                return try await connection.backend()
            }
            let second = try await pool.withConnection { connection in
                let pid = try await connection.backend()
                _ = try await postgresError { try await connection.query("SELECT pg_terminate_backend(pg_backend_pid())") }
                return pid
            }
            let third = try await pool.withConnection { try await $0.backend() }
            #expect(Set([first, second, third]).count == 3)
        }
    }

    @Test func `a connection to a server that has become read-only is not leased again`() async throws {
        try await withPool(ConnectionPool.Configuration(maxConnections: 1)) { pool, _ in
            let first = try await pool.withConnection { connection in
                try await connection.execute("SET default_transaction_read_only = on")
                let error = try await postgresError { try await connection.execute("CREATE TABLE t ()") }
                #expect(error.sqlState == .readOnlyTransaction)
                #expect(error.isRetryable)
                return try await connection.backend()
            }
            #expect(try await pool.withConnection { try await $0.backend() } != first)
        }
    }

    @Test func `a failed connection attempt frees its slot`() async throws {
        let options = try ConnectionOptions("host=127.0.0.1 port=\(FreePort.find()) user=nobody")
        let pool = ConnectionPool(options: options, configuration: .init(maxConnections: 1), logger: .silent)
        for _ in 0..<3 {
            let error = try await postgresError { try await pool.withConnection { try await $0.backend() } }
            #expect(error.code == .connectionFailed)
            #expect(error.isRetryable)
        }
        await pool.close()
    }

    @Test func `tasks that find no server share its attempts, and each gets the reason`() async throws {
        let options = try ConnectionOptions("host=127.0.0.1 port=\(FreePort.find()) user=nobody")
        let limits = ConnectionPool.Configuration(maxConnections: 4, acquireTimeout: .milliseconds(300))
        let pool = ConnectionPool(options: options, configuration: limits, logger: .silent)
        let errors = await withTaskGroup(of: PostgresError?.self) { group in
            for _ in 0..<40 {
                group.addTask { try? await postgresError { try await pool.withConnection { try await $0.backend() } } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.allSatisfy { $0?.code == .connectionFailed && $0?.message.contains("refused") == true })
        #expect(pool.counts.failed <= 8)
        // In the end the pause is longer than a task waits, which then gets the last reason.
        var last: PostgresError?
        for _ in 0..<20 where last?.message.hasPrefix("no connection within") != true {
            last = try await postgresError { try await pool.withConnection { try await $0.backend() } }
        }
        #expect(last?.message.hasPrefix("no connection within") == true)
        #expect(last?.code == .connectionFailed && last?.message.contains("refused") == true)
        await pool.close()
    }

    @Test func `a wait for a connection leaves no timer behind`() async throws {
        try await TestCluster.shared.withDatabase { database in
            let ticker = Ticker()
            let limits = ConnectionPool.Configuration(maxConnections: 1)
            let pool = ConnectionPool(
                options: try ConnectionOptions(database.url()),
                configuration: limits,
                logger: .silent,
                ticker: ticker
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await pool.withConnection { _ in
                    for _ in 0..<100 { group.addTask { try await pool.withConnection { _ in } } }
                    while ticker.count < 100 { await Task.yield() }
                }
                try await group.waitForAll()
            }
            #expect(ticker.count == 0)
            await pool.close()
        }
    }

    @Test func `no task waits for a silent host longer than the acquire timeout`() async throws {
        let silent = SilentServer()
        let options = try ConnectionOptions("host=127.0.0.1 port=\(silent.port) user=nobody sslmode=disable connect_timeout=4")
        let configuration = ConnectionPool.Configuration(maxConnections: 1, acquireTimeout: .milliseconds(200))
        let pool = ConnectionPool(options: options, configuration: configuration, logger: .silent)
        let start = ContinuousClock.now
        let error = try await postgresError { try await pool.withConnection { try await $0.backend() } }
        #expect(error.code == .connectionFailed)
        #expect(ContinuousClock.now - start < .seconds(3))
        await pool.close()
    }

    @Test func `graceful shutdown waits for leased connections and refuses new callers`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let pool = ConnectionPool(options: try ConnectionOptions(database.url()), logger: .silent)
        let group = ServiceGroup(configuration: .init(services: [.init(service: pool)], logger: .silent))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await pool.withConnection { connection in
                await group.triggerGracefulShutdown()
                try await eventually("refusal") {
                    do {
                        return try await pool.withConnection { _ in false }
                    } catch let error as PostgresError {
                        return error.code == .closed
                    }
                }
                #expect(try await connection.query("SELECT 1").count == 1)
            }
            try await tasks.waitForAll()
        }
        let admin = try await connect(database)
        let others = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()" as Statement
        try await eventually("closed connections") { try await admin.query(others).isEmpty }
        await admin.close()
    }

    @Test func `idle connections are closed after the idle timeout`() async throws {
        let configuration = ConnectionPool.Configuration(idleTimeout: .milliseconds(50))
        try await withPool(configuration) { pool, database in
            let admin = try await connect(database)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await pool.run() }
                let pid = try await pool.withConnection { try await $0.backend() }
                try await admin.awaitEnd(of: pid)
                tasks.cancelAll()
                try await tasks.waitForAll()
            }
            await admin.close()
        }
    }

    private func withPool(_ configuration: ConnectionPool.Configuration, _ body: (ConnectionPool, TestDatabase) async throws -> Void)
        async throws
    {
        try await TestCluster.shared.withDatabase { database in
            let options = try ConnectionOptions(database.url())
            let pool = ConnectionPool(options: options, configuration: configuration, logger: .silent)
            try await body(pool, database)
            await pool.close()
        }
    }
}

private final class Count: Sendable {
    private let value = Mutex(0)

    @discardableResult
    func add(_ change: Int) -> Int {
        value.withLock { value in
            value += change
            return value
        }
    }
}
