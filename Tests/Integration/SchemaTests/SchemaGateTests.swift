import InboxTesting
import Postgres
import PostgresTesting
import Schema
import Testing

/// A daemon uses only a schema of its own contract.
struct SchemaGateTests {
    private func ask(_ gate: SchemaGate, _ database: TestDatabase, user: String = "appstore_worker") async throws {
        try await database.withConnection(user: user) { try await gate.check($0) }
    }

    @Test(arguments: ["appstore_worker", "appstore_ingest", "appstore_api"])
    func `each daemon's role can check the contract`(role: String) async throws {
        let gate = SchemaGate(logger: .silent)
        try await ask(gate, try await InboxDatabase.make(), user: role)
        #expect(gate.refusal == nil)
    }

    @Test(arguments: [(Int32(2), "update the program"), (0, "run `appstore-inbox migrate`")])
    func `another contract is refused and logged once with a remedy, until it matches`(contract: Int32, advice: String) async throws {
        let database = try await InboxDatabase.make()
        let log = CapturedLog()
        let gate = SchemaGate(logger: log.logger)
        try await database.run("UPDATE appstore.fence SET contract = \(contract)")
        for _ in 1...3 { await #expect(throws: SchemaError.self) { try await ask(gate, database) } }
        #expect(gate.refusal?.description == "the database has schema contract \(contract), this program works with 1: \(advice)")
        #expect(log.text.split(separator: "\n").count { $0.hasPrefix("warning") } == 1, "\(log.text)")
        try await database.run("UPDATE appstore.fence SET contract = 1")
        try await ask(gate, database)
        #expect(gate.refusal == nil)
        #expect(log.text.contains("the database can be used"))
    }

    @Test func `a database without the schema is refused until it is migrated`() async throws {
        _ = try await InboxDatabase.make()
        let database = try await TestCluster.shared.makeDatabase()
        let gate = SchemaGate(logger: .silent)
        let error = await #expect(throws: SchemaError.self) { try await ask(gate, database) }
        #expect(error?.code == .schemaMissing)
        try await database.migrate()
        try await ask(gate, database)
    }

    @Test func `a pool lends no connection while the check fails, and repeats the check`() async throws {
        let database = try await InboxDatabase.make()
        let gate = SchemaGate(logger: .silent)
        var configuration = ConnectionPool.Configuration(maxConnections: 2).checked(by: gate)
        configuration.checkInterval = .zero
        let pool = ConnectionPool(
            options: try ConnectionOptions(database.url(user: "appstore_worker")),
            configuration: configuration,
            logger: .silent
        )
        let work: @Sendable () async throws -> Void = { _ = try await pool.withConnection { try await $0.query("SELECT 1") } }
        try await work()
        try await database.run("UPDATE appstore.fence SET contract = 2")
        let error = await #expect(throws: PostgresError.self) { try await work() }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("update the program") == true)
        try await database.run("UPDATE appstore.fence SET contract = 1")
        try await work()
        #expect(pool.counts.opened == 1)
        await pool.close()
    }
}
