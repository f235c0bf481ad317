import Foundation
import InboxTesting
import Migrations
import Postgres
import PostgresTesting
import Schema
import Testing

struct SchemaMigratorTests {
    private func migrate(_ database: TestDatabase, _ migrations: [Migration] = Migration.all, user: String = "postgres") async throws
        -> [String]
    {
        try await database.withConnection(user: user) { connection in
            try await SchemaMigrator(connection: connection, migrations: migrations, logger: .silent).migrate()
        }
    }

    @Test func `two runs at once apply each migration once`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        async let first = migrate(database)
        async let second = migrate(database)
        let applied = try await first + second
        #expect(applied == Migration.all.map(\.name))
        #expect(try await migrate(database).isEmpty)
    }

    @Test func `a database that is newer than the program is left alone`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            _ = try await connection.execute("INSERT INTO appstore.schema_migrations (version, name) VALUES (9999, 'tomorrow')")
        }
        let error = await #expect(throws: SchemaError.self) { try await migrate(database) }
        #expect(error?.code == .databaseIsNewer)
    }

    @Test func `an older schema with events in it comes to the new one without losing any`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        _ = try await migrate(database, Array(Migration.all.prefix(1)))
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\([[UInt8]]([[1], [2]])))")
        }
        #expect(try await migrate(database) == Migration.all.dropFirst().map(\.name))
        #expect(
            try await database.lines("SELECT event_id || '|' || state FROM appstore.inbox_status ORDER BY event_id") == [
                "1|ready", "2|ready",
            ]
        )
    }

    @Test func `books that an older schema kept are completed`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        _ = try await migrate(database, Array(Migration.all.prefix(4)))
        let order = UUID()
        try await database.withConnection { connection in
            _ = try await connection.execute(
                """
                INSERT INTO appstore.transactions (
                    environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type, purchase_date,
                    in_app_ownership_type, app_account_token, signed_date, payload_hash, first_signed_date, first_token,
                    first_token_signed_date, first_token_hash, period_no, is_subscription)
                VALUES ('Production', '1000', '1000', 'com.example.app', 'lifetime', 'Non-Consumable', now(), 'PURCHASED', \(order), now(),
                        '\\x01', now(), \(order), now(), '\\x01', \(UUID()), false)
                """
            )
            _ = try await connection.execute("SELECT appstore.create_order('anna', 'lifetime', \(order))")
        }
        #expect(try await database.lines("SELECT contract_id FROM appstore.member_contracts").isEmpty)
        _ = try await migrate(database)
        let books = """
            SELECT concat_ws(' ', o.status, o.user_id, c.evidence = 'order:' || o.no, m.user_id, m.product_id, m.access_until, e.active)
            FROM appstore.orders AS o JOIN appstore.claims AS c ON c.original_transaction_id = o.origin_no
            JOIN appstore.member_contracts AS m ON m.contract_id = o.origin_no
            JOIN appstore.entitlements AS e ON e.user_id = o.user_id
            """
        #expect(try await database.lines("\(unsafeRaw: books)") == ["paid anna t anna lifetime infinity t"])
    }

    @Test func `refunds that an older schema kept have their keys in whole seconds, and one of each`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        _ = try await migrate(database, Array(Migration.all.prefix(22)))
        try await database.withConnection { connection in
            _ = try await connection.execute(
                """
                INSERT INTO appstore.effects (environment, kind, effect_key, effect_id, event_id, occurred_at, transaction_id)
                OVERRIDING SYSTEM VALUE
                SELECT 'Production', e.kind, e.id || '/' || e.ms, e.n, e.n, to_timestamp(e.ms / 1000.0), e.id
                FROM (VALUES (1, 'refunded', '1000', 1767225600123), (2, 'refunded', '1000', 1767225600900),
                             (3, 'refunded', '1001', 1767225600000), (4, 'revoked', '1000', 1767225600123),
                             (5, 'refunded', '1000', 1767225601000)) AS e (n, kind, id, ms)
                """
            )
            _ = try await connection.execute(
                """
                INSERT INTO appstore.effects (environment, kind, effect_key, effect_id, event_id, occurred_at, transaction_id)
                OVERRIDING SYSTEM VALUE
                VALUES ('Production', 'granted', '1000', 6, 6, '2026-01-01 00:00:00.123+00', '1000')
                """
            )
        }
        _ = try await migrate(database)
        let effects = "SELECT concat_ws(' ', effect_id, kind, effect_key) FROM appstore.effects ORDER BY effect_id"
        #expect(
            try await database.lines("\(unsafeRaw: effects)") == [
                "1 refunded 1000/1767225600000", "3 refunded 1001/1767225600000", "4 revoked 1000/1767225600000",
                "5 refunded 1000/1767225601000", "6 granted 1000",
            ]
        )
    }

    @Test func `the owner alone can migrate once the roles are there`() async throws {
        _ = try await InboxDatabase.make()
        let database = try await TestCluster.shared.makeDatabase()
        try await database.withConnection { connection in
            _ = try await connection.execute("GRANT CREATE ON DATABASE \(identifier: database.name) TO appstore_owner")
        }
        #expect(try await migrate(database, user: "appstore_owner").count == Migration.all.count)
    }

    @Test func `every file of the migrations is compiled in, under its own number`() throws {
        #expect(Migration.all.map(\.version) == Array(1...Migration.all.count))
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../sql/migrations")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(files == Migration.all.map { $0.name + ".sql" })
        for migration in Migration.all {
            #expect(
                migration.name.hasPrefix("m" + String(repeating: "0", count: 4 - "\(migration.version)".count) + "\(migration.version)_")
            )
        }
    }
}
