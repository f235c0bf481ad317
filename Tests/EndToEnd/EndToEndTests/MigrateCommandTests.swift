import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    @Suite struct MigrateCommandTests {

        @Test func `migrate creates the schema in an empty database, and changes nothing in a database in use`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            let first = try await migrate(database)
            #expect((first.ending, first.output) == (.exit(0), "The schema is made, in version 1.\n"))
            let sql = try SQLAccess(url: database.url())
            // Events, repairs, partitions that the worker made and closed, one that is about to be dropped, and an operator's settings.
            for statement in [
                "SELECT appstore.receive(ARRAY['a', 'b', 'c']::bytea[])", "SELECT appstore.discard_event(1, 'junk')",
                "UPDATE appstore.retention SET bodies = '30 days', partition_events = 1000",
                "INSERT INTO appstore.products (bundle_id, product_id, entitlement) VALUES ('a', 'b', 'c')",
                "SELECT setval('appstore.inbox_event_id', 10000000)", "SELECT appstore.prepare_partitions()",
                "SELECT appstore.prepare_partitions()", "SELECT appstore.receive(ARRAY['d']::bytea[])",
                "UPDATE appstore.outcomes SET settled_at = now() - interval '40 days'", "SELECT appstore.drop_aged_partition()",
            ] as [Statement] {
                try await sql.execute(statement)
            }
            let objects = """
                SELECT concat_ws(' ', c.oid, c.xmin, c.relname, c.relacl) FROM pg_class AS c WHERE c.relnamespace = 'appstore'::regnamespace
                UNION ALL
                SELECT concat_ws(' ', p.oid, p.xmin, p.proname, p.proacl) FROM pg_proc AS p WHERE p.pronamespace = 'appstore'::regnamespace
                UNION ALL SELECT i.xmin || ' ' || i::text FROM appstore.inbox AS i
                UNION ALL SELECT q.xmin || ' ' || q::text FROM appstore.inbox_queue AS q
                UNION ALL SELECT o.xmin || ' ' || o::text FROM appstore.outcomes AS o
                UNION ALL SELECT r.xmin || ' ' || r::text FROM appstore.retention AS r
                UNION ALL SELECT p.xmin || ' ' || p::text FROM appstore.products AS p
                UNION ALL SELECT last_value::text FROM appstore.inbox_event_id
                ORDER BY 1
                """
            let before = try await sql.values("\(unsafeRaw: objects)")
            #expect(before.contains { $0.contains("aged_inbox_first") }, "a partition is detached")
            let again = try await migrate(database)
            #expect((again.ending, again.output) == (.exit(0), "The schema is current.\n"))
            let check = try await migrate(database, "--check")
            #expect((check.ending, check.output) == (.exit(0), "The schema is what this program makes.\n"))
            #expect(try await sql.values("\(unsafeRaw: objects)") == before)
            await sql.close()
        }

        @Test func `migrate --check lists the differences and changes nothing`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            let missing = try await migrate(database, "--check")
            #expect(missing.ending == .exit(1))
            #expect(missing.output == "the database has no schema of appstore-inbox\n")
            _ = try await migrate(database)
            let same = try await migrate(database, "--check")
            #expect(same.ending == .exit(0))
            #expect(same.output == "The schema is what this program makes.\n")
            let sql = try SQLAccess(url: database.url())
            try await sql.execute("DROP INDEX appstore.audit_log_by_event")
            await sql.close()
            let other = try await migrate(database, "--check")
            #expect(other.ending == .exit(1))
            #expect(other.output == "missing: index appstore.audit_log_by_event\n")
        }

        @Test func `a role without the privilege to create the schema gets an error`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            _ = try await migrate(try await TestCluster.shared.makeDatabase())  // the cluster has the roles now
            let result = try await Program.run(
                ["migrate"],
                settings: ["APPSTORE_INBOX_DATABASE_URL": database.url(user: "appstore_viewer")]
            )
            #expect(result.ending == .exit(1))
            #expect(result.errors.contains("permission denied") || result.errors.contains("appstore_owner"), "\(result.errors)")
        }

        private func migrate(_ database: TestDatabase, _ options: String...) async throws -> Program.Result {
            try await Program.run(["migrate"] + options, settings: ["APPSTORE_INBOX_DATABASE_URL": database.url()])
        }
    }
}
