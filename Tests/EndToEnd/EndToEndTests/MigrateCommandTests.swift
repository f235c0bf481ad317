import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import SQL
import Testing

extension EndToEndInterfaces {
    @Suite struct MigrateCommandTests {

        @Test func `migrate creates the schema in an empty database, and changes nothing in a database in use`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            let first = try await migrate(database)
            #expect(first.ending == .exit(0))
            #expect(
                first.output == """
                    The schema is made, in version \(SchemaManifest().version).
                    Raw bodies are kept for 90 days after their outcome, outcomes for ever: appstore.retention changes that.

                    """
            )
            let sql = try SQLAccess(url: database.url())
            // Events, repairs, partitions that the worker made and closed, one that is about to be dropped, and an operator's settings.
            for statement in [
                "SELECT appstore.receive(ARRAY['a', 'b', 'c']::bytea[])", "SELECT appstore.discard_event(1, 'junk')",
                "UPDATE appstore.retention SET bodies = '30 days', partition_events = 1000",
                "INSERT INTO appstore.products (bundle_id, product_id, entitlement) VALUES ('a', 'b', 'c')",
                "SELECT setval('appstore.inbox_event_id', 1000000)", "SELECT appstore.prepare_partitions()",
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
            let remedy =
                "appstore_viewer may not act as appstore_owner: run migrate as a superuser or the role that made appstore_owner, or as one of these "
                + "GRANT appstore_owner TO appstore_viewer"
            #expect(result.errors.contains(remedy), "\(result.errors)")
        }

        @Test func `a member of the owner learns what a database lacks in which sql/roles.sql has not run`() async throws {
            _ = try await migrate(try await TestCluster.shared.makeDatabase())
            let database = try await TestCluster.shared.makeDatabase()
            let sql = try SQLAccess(url: database.url())
            try await sql.execute("CREATE ROLE migrate_member LOGIN IN ROLE appstore_owner")
            let settings = ["APPSTORE_INBOX_DATABASE_URL": database.url(user: "migrate_member")]
            let result = try await Program.run(["migrate"], settings: settings)
            #expect(result.ending == .exit(1))
            #expect(result.errors.contains("tables/00_schema: permission denied for database"), "\(result.errors)")
            #expect(result.errors.contains("run sql/roles.sql in this database as a superuser"), "\(result.errors)")
            try await sql.execute("DROP ROLE migrate_member")
            await sql.close()
        }

        @Test func `--list and --dry-run tell what is there and what would be done, and change nothing`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            let sql = try SQLAccess(url: database.url())
            let schemas: Statement = "SELECT nspname::text FROM pg_namespace WHERE nspname = 'appstore'"
            #expect(try await migrate(database, "--list").output == "\(SchemaManifest().version)  the whole schema, not made yet\n")
            let first = try await migrate(database, "--dry-run")
            #expect(first.ending == .exit(0))
            #expect(first.output.hasSuffix("Would make the schema, in version \(SchemaManifest().version).\n"))
            #expect(try await sql.values(schemas) == [])
            _ = try await migrate(database)
            let list = try await migrate(database, "--list")
            #expect(list.output.wholeMatch(of: /\d+  tables, applied 20\d\d-[-0-9T:.+ Z]+\n/) != nil, "\(list.output)")
            #expect(try await migrate(database, "--dry-run").output == "The schema is current.\n")
            try await sql.execute("DROP FUNCTION appstore.repeat_call")
            #expect(try await migrate(database, "--dry-run").output == "Would apply functions, views and privileges.\n")
            #expect(try await sql.value(Bool.self, "SELECT to_regproc('appstore.repeat_call') IS NULL"))
            try await sql.execute("INSERT INTO appstore.schema_history VALUES (1000, 'steps/1000_later', true)")
            #expect(try await migrate(database, "--list").output.contains("1000  steps/1000_later, applied "))
            let newer = try await migrate(database, "--dry-run")
            #expect((newer.ending, newer.errors.contains("update the program")) == (.exit(1), true), "\(newer.errors)")
            #expect(try await migrate(database, "--list", "--dry-run").ending == .exit(2))
            await sql.close()
        }

        private func migrate(_ database: TestDatabase, _ options: String...) async throws -> Program.Result {
            try await Program.run(["migrate"] + options, settings: ["APPSTORE_INBOX_DATABASE_URL": database.url()])
        }
    }
}
