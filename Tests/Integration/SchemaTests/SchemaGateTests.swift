import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema
import Testing

/// A daemon uses only a database that it can work with.
struct SchemaGateTests {
    private func ask(_ gate: SchemaGate, _ database: TestDatabase, user: String = "appstore_worker") async throws {
        try await database.withConnection(user: user) { try await gate.check($0) }
    }

    /// The error of a check as `user`, with nothing else in the log.
    private func refusal(_ expected: SchemaExpectation, _ database: TestDatabase, user: String) async throws -> SchemaError? {
        let gate = SchemaGate(expected, logger: .silent)
        let error = await #expect(throws: SchemaError.self) { try await ask(gate, database, user: user) }
        #expect(gate.refusal?.code == error?.code && !gate.isUsable)
        return error
    }

    @Test(arguments: [
        ("appstore_worker", SchemaExpectation.worker), ("appstore_ingest", .ingest), ("appstore_api", .api), ("appstore_console", .console),
    ])
    func `each daemon's role is admitted without a warning`(role: String, expected: SchemaExpectation) async throws {
        let database = try await InboxDatabase.make()
        let log = CapturedLog()
        let gate = SchemaGate(expected, logger: log.logger)
        try await ask(gate, database, user: role)
        #expect(gate.refusal == nil && gate.isUsable)
        #expect(log.text.contains("the database can be used") && log.text.contains(#""database.role": \#(role)"#), "\(log.text)")
        #expect(!log.text.contains("warning"), "\(log.text)")
    }

    @Test(arguments: [("appstore_viewer", SchemaExpectation.worker), ("appstore_worker", .ingest), ("appstore_backend", .api)])
    func `a role that cannot work is refused, with the role to connect as`(role: String, expected: SchemaExpectation) async throws {
        let error = try await refusal(expected, try await InboxDatabase.make(), user: role)
        #expect(error?.description == "the role \(role) may not do what is needed: connect as \(expected.role)")
    }

    @Test func `a superuser is admitted with a warning that names the role to use`() async throws {
        let log = CapturedLog()
        try await ask(SchemaGate(.api, logger: log.logger), try await InboxDatabase.make(), user: "postgres")
        #expect(log.text.contains("postgres is a superuser: connect as appstore_api"), "\(log.text)")
    }

    @Test func `the console must log in as its role, by whose name the schema knows it`() async throws {
        let database = try await InboxDatabase.make()
        let name = "login_\(database.name)"
        try await database.run("CREATE ROLE \(name) LOGIN; GRANT appstore_console TO \(name)")
        let gate = SchemaGate(.console, logger: .silent)
        let options = try ConnectionOptions(database.url(user: name) + "&options=-c%20role%3Dappstore_console")
        let connection = try await Connection.open(options, logger: .silent)
        await #expect(throws: SchemaError.self) { try await gate.check(connection) }
        #expect(gate.refusal?.code == .wrongRole && gate.refusal?.description.hasSuffix("log in as appstore_console") == true)
        await connection.close()
        try await database.run("DROP ROLE \(name)")
    }

    @Test func `a role without any privilege learns which role to connect as`() async throws {
        let database = try await InboxDatabase.make()
        try await database.run("CREATE ROLE gate_stranger LOGIN")
        let error = try await refusal(.ingest, database, user: "gate_stranger")
        #expect(error?.description == "the role gate_stranger may not do what is needed: connect as appstore_ingest")
        try await database.run("DROP ROLE gate_stranger")
    }

    /// That of the program.
    private static let version = SchemaManifest().version

    @Test(arguments: [
        (
            "UPDATE appstore.fence SET contract = contract + 1", "UPDATE appstore.fence SET contract = contract - 1",
            SchemaError.Code.databaseIsNewer,
            "the schema is version \(version), this program knows \(version) and cannot work with a change since then: update the program"
        ),
        (
            "DELETE FROM appstore.schema_history", "INSERT INTO appstore.schema_history VALUES (\(version), 'tables', false)",
            .schemaIsOlder,
            "the schema is version 0, this program knows \(version): run `appstore-inbox migrate`"
        ),
    ])
    func `another schema is refused and logged once with a remedy, until it fits`(
        change: String,
        repair: String,
        code: SchemaError.Code,
        text: String
    ) async throws {
        let database = try await InboxDatabase.make()
        let log = CapturedLog()
        let gate = SchemaGate(.worker, logger: log.logger)
        try await database.run(change)
        for _ in 1...3 { await #expect(throws: SchemaError.self) { try await ask(gate, database) } }
        #expect((gate.refusal?.code, gate.refusal?.description) == (code, text))
        #expect(log.text.split(separator: "\n").count { $0.hasPrefix("warning") } == 1, "\(log.text)")
        try await database.run(repair)
        try await ask(gate, database)
        #expect(gate.refusal == nil)
        #expect(log.text.contains("the database can be used"))
    }

    @Test func `a later schema with the same contract is admitted`() async throws {
        let database = try await InboxDatabase.make()
        try await database.run("INSERT INTO appstore.schema_history VALUES (1000, 'steps/1000_add', false)")
        try await ask(SchemaGate(.worker, logger: .silent), database)
    }

    @Test func `an outage is logged once for each reason, and its end once`() async throws {
        let database = try await InboxDatabase.make()
        let log = CapturedLog()
        let gate = SchemaGate(.worker, logger: log.logger)
        for reason in ["refused", "refused", "starting up", "refused"] { gate.openingFailed(SchemaTestError(description: reason)) }
        #expect(log.text.split(separator: "\n").count { $0.contains("cannot be reached") } == 2, "\(log.text)")
        #expect(gate.refusal == nil && !gate.isUsable)
        for _ in 1...3 { try await ask(gate, database) }
        #expect(log.text.split(separator: "\n").count { $0.contains("can be used") } == 1, "\(log.text)")
        gate.openingFailed(SchemaTestError(description: "refused"))
        #expect(log.text.split(separator: "\n").count { $0.contains("cannot be reached") } == 3, "a new outage is logged again")
    }

    @Test func `a database without the schema is refused until it is migrated`() async throws {
        _ = try await InboxDatabase.make()
        let database = try await TestCluster.shared.makeDatabase()
        let gate = SchemaGate(.worker, logger: .silent)
        let error = await #expect(throws: SchemaError.self) { try await ask(gate, database) }
        #expect(error?.code == .schemaMissing)
        try await database.migrate()
        try await ask(gate, database)
    }

    @Test func `a pool lends no connection while the check fails, and repeats the check`() async throws {
        let database = try await InboxDatabase.make()
        let gate = SchemaGate(.worker, logger: .silent)
        var configuration = ConnectionPool.Configuration(maxConnections: 2).checked(by: gate)
        configuration.checkInterval = .zero
        let pool = ConnectionPool(
            options: try ConnectionOptions(database.url(user: "appstore_worker")),
            configuration: configuration,
            logger: .silent
        )
        let work: @Sendable () async throws -> Void = { _ = try await pool.withConnection { try await $0.query("SELECT 1") } }
        try await work()
        try await database.run("UPDATE appstore.fence SET contract = contract + 1")
        let error = await #expect(throws: PostgresError.self) { try await work() }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("update the program") == true)
        try await database.run("UPDATE appstore.fence SET contract = contract - 1")
        try await work()
        #expect(pool.counts.opened == 1)
        await pool.close()
    }
}

private struct SchemaTestError: Error, CustomStringConvertible {
    let description: String
}
