import AppStore
import HTTPServingTesting
import InboxTesting
import Ingest
import Postgres
import PostgresTesting
import ShopAPI
import SignedTesting
import StoreSimulator
import Testing

/// The services behind a pooler in transaction mode. Skipped where PgBouncer is not installed.
@Suite(.enabled(if: PgBouncer.isInstalled, "PgBouncer is not installed"), .timeLimit(.minutes(3)))
struct PgBouncerTests {
    @Test func `events are received, settled, and repaired by the thousand`() async throws {
        try await PooledServices.run { services in
            let bodies = try Self.purchases(300)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for body in bodies { tasks.addTask { _ = try await services.committer.submit(body, source: "notification_v2") } }
                try await tasks.waitForAll()
            }
            try await services.expect(
                "300 applied",
                from: "SELECT count(*) || ' ' || coalesce(min(result)::text, '') FROM appstore.outcomes"
            )

            // More than one step of a repair.
            let junk: [[UInt8]] = (0..<1100).map { Array("not signed \($0)".utf8) }
            try await services.database.withConnection(user: "appstore_ingest") { connection in
                for start in stride(from: 0, to: junk.count, by: 50) {
                    _ = try await connection.query("SELECT appstore.receive(\(Array(junk[start..<start + 50])))")
                }
            }
            try await services.expect("1100", from: "SELECT count(*)::text FROM appstore.outcomes WHERE result = 'rejected'")
            let asOperator = try services.bouncer.options(services.database, user: "appstore_operator")
            let connection = try await Connection.open(asOperator, logger: .silent)
            try await connection.execute("SELECT appstore.requeue(result => 'rejected')")
            await connection.close()
            try await services.expect(
                "1100",
                from: "SELECT coalesce(sum(cardinality(event_ids)), 0)::text FROM appstore.audit_log WHERE action = 'requeue'"
            )
            try await services.expect("1100", from: "SELECT count(*)::text FROM appstore.outcomes WHERE result = 'rejected' AND run = 2")
            #expect(try await services.database.eventsNotExactlyOnce() == [])
            // Maintenance makes partitions ahead of time.
            try await services.expect("true", from: "SELECT (count(*) > 0)::text FROM appstore.inbox_partitions WHERE from_id > 0")
            try await expectNoSessionState(services)
        }
    }

    @Test func `the API serves the shop's backend`() async throws {
        try await PooledServices.run { services in
            let key = try await makeKey(services)
            let no = "6f1c9a52-0d7e-4d7b-9c55-6a2f3a1f8e01"
            let order = #"{"user":"ann","product":"pro.monthly","orderNo":"\#(no)"}"#
            #expect(try await services.exchange("POST", "/v1/orders", key: key, json: order).status == 201)
            #expect(try await services.exchange("POST", "/v1/orders", key: key, json: order).status == 200)
            let post = #"{"signedTransaction":"YWJj.ZGVm.Z2hp","user":"ann"}"#
            let answer = try await services.exchange("POST", "/v1/transactions?wait=10", key: key, json: post)
            #expect(answer.status == 422, "it ran, and is not Apple's")
            #expect(answer.body.contains("rejected"))
            #expect(try await services.exchange("GET", "/v1/users/ann/entitlements", key: key).status == 200)
            try await expectNoSessionState(services)
        }
    }

    @Test(arguments: [("ingest", "5s, 2s"), ("api", "5s, 2s"), ("operator", "1min, 5s")])
    func `each role has its own timeouts`(role: String, timeouts: String) async throws {
        let database = try await InboxDatabase.make()
        try await PgBouncer.run(before: database) { bouncer in
            let connection = try await Connection.open(bouncer.options(database, user: "appstore_\(role)"), logger: .silent)
            let rows = try await connection.query(
                "SELECT current_setting('statement_timeout') || ', ' || current_setting('lock_timeout')"
            )
            #expect(try rows[0].decode(0, as: String.self) == timeouts)
            await connection.close()
        }
    }

    @Test func `the pooler refuses session parameters, so that no test depends on them`() async throws {
        let database = try await InboxDatabase.make()
        try await PgBouncer.run(before: database) { bouncer in
            let url = bouncer.url(database, user: "appstore_worker") + "&options=-c%20statement_timeout%3D1s"
            let error = await #expect(throws: PostgresError.self) { _ = try await Connection.open(ConnectionOptions(url), logger: .silent) }
            #expect(error?.message.contains("unsupported startup parameter") == true)
        }
    }

    /// Expects each server connection of the worker to be without session state, and to have the timeouts of the role.
    private func expectNoSessionState(_ services: PooledServices) async throws {
        let servers = try await services.database.lines(
            """
            SELECT (count(*) BETWEEN 1 AND \(PgBouncer.poolSize))::text FROM pg_stat_activity
            WHERE datname = current_database() AND usename = 'appstore_worker'
            """
        )
        #expect(servers == ["true"], "more connections than these share them")
        let state = try await services.state(ofServers: PgBouncer.poolSize - 1)
        #expect(state.count == PgBouncer.poolSize - 1)
        #expect(Set(state) == ["30s, 2s, no statements, no settings, no tables, no channels"])
        try await services.expect(
            "0",
            from: """
                SELECT count(*)::text FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
                WHERE l.locktype = 'advisory' AND d.datname = current_database()
                """
        )
    }

    private func makeKey(_ services: PooledServices) async throws -> APIKey {
        var generator = SystemRandomNumberGenerator()
        let key = APIKey(using: &generator)
        let options = try services.bouncer.options(services.database, user: "appstore_operator")
        let connection = try await Connection.open(options, logger: .silent)
        _ = try await KeyRegister(connection).add(
            key,
            name: "test",
            bundleIDs: nil,
            environments: [.production],
            verbs: Verb.allCases
        )
        await connection.close()
        return key
    }

    /// First purchases of this many customers.
    private static func purchases(_ count: Int) throws -> [[UInt8]] {
        var store = SimulatedStore(app: SignedScene.app, seed: 1, now: SignedScene.now)
        let signer = try SignedScene.signer()
        return try (0..<count).map { _ in
            var customer = store.makeCustomer()
            return try signer.sign(customer.subscribe()).body
        }
    }
}

extension PooledServices {
    /// The state of this many server sessions beyond their role's settings. They are held at once, so that all are different. Settings of
    /// PgBouncer itself and the isolation level of the query's transaction are left out.
    func state(ofServers count: Int) async throws -> [String] {
        guard count > 0 else { return [] }
        let connection = try await Connection.open(bouncer.options(database, user: "appstore_worker"), logger: .silent)
        let state = try await connection.withTransaction { transaction in
            let rows = try await transaction.query(
                """
                SELECT concat_ws(', ', current_setting('statement_timeout'), current_setting('lock_timeout'),
                    CASE WHEN EXISTS (SELECT FROM pg_prepared_statements WHERE name <> '') THEN 'statements' ELSE 'no statements' END,
                    coalesce((SELECT string_agg(name, ' ') FROM pg_settings
                              WHERE source = 'session' AND lower(name) NOT IN ('application_name', 'client_encoding', 'datestyle', 'timezone',
                                                                               'standard_conforming_strings', 'transaction_isolation')), 'no settings'),
                    CASE WHEN EXISTS (SELECT FROM pg_class WHERE relpersistence = 't') THEN 'tables' ELSE 'no tables' END,
                    CASE WHEN EXISTS (SELECT FROM pg_listening_channels()) THEN 'channels' ELSE 'no channels' END)
                """
            )
            return [try rows[0].decode(0, as: String.self)] + (try await self.state(ofServers: count - 1))
        }
        await connection.close()
        return state
    }
}
