import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema
import Testing

/// Upgrades between two synthetic releases: what is there at the end, and what of others survives.
struct SchemaUpgradeTests {
    /// A release with a table, and with definitions of each kind that depend on it or on each other.
    private struct Release {
        /// The columns of the table.
        var columns: String
        /// What its views and functions select.
        var selected: String
        /// The result and the arguments of its function.
        var result = "bigint"
        var arguments = "a integer"

        static let first = Release(columns: "id bigint PRIMARY KEY, old text, kept text", selected: "t.id, t.old, t.kept")
        /// Without the column `old`, with another one.
        static let second = Release(
            columns: "id bigint PRIMARY KEY, kept text, added text",
            selected: "t.id, t.kept, t.added",
            result: "text",
            arguments: "b integer, c integer DEFAULT 1"
        )
        static let steps = """
            ALTER TABLE appstore.mine DROP COLUMN old; ALTER TABLE appstore.mine ADD COLUMN added text; DROP TYPE appstore.mine_kind CASCADE;
            """

        /// The first release has more, which the second lacks.
        func manifest(isFirst: Bool) -> SchemaManifest {
            var copy = SchemaManifest()
            copy.tables.append(
                SchemaFile(
                    name: "tables/99_mine",
                    text: """
                        CREATE TABLE appstore.mine (\(columns)); CREATE TABLE appstore.copies (n integer, LIKE appstore.mine);
                        \(isFirst ? "CREATE TYPE appstore.mine_kind AS ENUM ('a');" : "")
                        """
                )
            )
            copy.functions += [
                SchemaFile(
                    name: "functions/mine/a",
                    text:
                        "CREATE OR REPLACE FUNCTION appstore.mine_a(\(arguments)) RETURNS \(result) LANGUAGE sql AS 'SELECT 1::\(result)';"
                ),
                // Both depend on the function.
                SchemaFile(
                    name: "functions/mine/b",
                    text: """
                        CREATE OR REPLACE FUNCTION appstore.mine_add(a \(result), b integer) RETURNS \(result) LANGUAGE sql
                            AS 'SELECT a';
                        CREATE OR REPLACE AGGREGATE appstore.mine_sum(integer) (SFUNC = appstore.mine_add, STYPE = \(result));
                        CREATE OR REPLACE PROCEDURE appstore.mine_do(\(isFirst ? "x" : "y") integer) LANGUAGE plpgsql AS 'BEGIN END';
                        CREATE OR REPLACE FUNCTION appstore.mine_typed(a \(isFirst ? "appstore.mine_kind" : "text")) RETURNS integer
                            LANGUAGE sql AS 'SELECT 1';
                        CREATE OR REPLACE FUNCTION appstore.mine_fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                        CREATE OR REPLACE TRIGGER mine_fires AFTER \(isFirst ? "INSERT" : "UPDATE") ON appstore.mine EXECUTE FUNCTION appstore.mine_fires();
                        """
                ),
            ]
            copy.views += [
                SchemaFile(
                    name: "views/mine_1",
                    text: "CREATE OR REPLACE VIEW appstore.mine_1 AS SELECT \(selected), appstore.mine_a(1) AS a FROM appstore.mine AS t;"
                ),
                SchemaFile(
                    name: "views/mine_2",
                    text: "CREATE OR REPLACE VIEW appstore.mine_2 AS SELECT t.*, 1 AS one FROM appstore.mine_1 AS t;"
                ),
                SchemaFile(
                    name: "views/mine_3",
                    text:
                        "CREATE OR REPLACE VIEW appstore.mine_3 AS SELECT t.id, t.kept\(isFirst ? "" : ", t.added") FROM appstore.mine AS t;"
                ),
            ]
            guard isFirst else { return copy }
            copy.functions.append(
                SchemaFile(
                    name: "functions/mine/gone",
                    text: """
                        CREATE OR REPLACE FUNCTION appstore.mine_gone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                        CREATE OR REPLACE TRIGGER mine_gone AFTER DELETE ON appstore.mine EXECUTE FUNCTION appstore.mine_gone();
                        """
                )
            )
            copy.views.append(
                SchemaFile(
                    name: "views/mine_gone",
                    text: "CREATE OR REPLACE VIEW appstore.mine_gone AS SELECT t.old FROM appstore.mine_2 AS t;"
                )
            )
            return copy
        }
    }

    private static let copies = "ALTER TABLE appstore.copies DROP COLUMN old; ALTER TABLE appstore.copies ADD COLUMN added text;"

    /// A database of the first release with rows, and the second release.
    private func scene(_ step: String = Release.steps + copies) async throws -> (TestDatabase, SchemaManifest) {
        let database = try await TestCluster.shared.makeDatabase()
        try await database.migrate(Release.first.manifest(isFirst: true))
        try await database.run("INSERT INTO appstore.mine VALUES (1, 'old', 'kept')")
        return (database, try await Release.second.manifest(isFirst: false).withFingerprint().adding(step))
    }

    @Test func `columns, functions, views, triggers and aggregates become those of a new database, and rows stay`() async throws {
        let (database, next) = try await scene()
        #expect(try await database.migrate(next).steps == [SchemaManifest.step(1)])
        #expect(try await database.differences(next) == [])
        #expect(Set(try await database.fingerprint()) == Set(next.fingerprint.digests.map { "\($1) \($0)" }))
        #expect(try await database.lines("SELECT concat_ws(' ', id, kept, one) FROM appstore.mine_2") == ["1 kept 1"])
        #expect(try await database.migrate(next).isEmpty)
    }

    @Test func `steps of several releases and their definitions are applied at once`() async throws {
        let (database, next) = try await scene(Release.steps)
        let last = next.adding("-- breaking\n" + Self.copies, name: "copies")
        #expect(try await database.migrate(last).steps == [SchemaManifest.step(1), SchemaManifest.step(2, "copies")])
        #expect(try await database.differences(last) == [])
        #expect(try await database.lines("SELECT contract::text FROM appstore.fence") == ["\(last.version)"])
    }

    @Test(arguments: [
        (Release.steps, "different: table appstore.copies"),
        (
            Release.steps + "ALTER TABLE appstore.copies DROP COLUMN old; ALTER TABLE appstore.copies ADD COLUMN added varchar;",
            "different: table appstore.copies"
        ),
        // The columns are in another order.
        (
            Release.steps + copies + "ALTER TABLE appstore.mine DROP COLUMN kept; ALTER TABLE appstore.mine ADD COLUMN kept text;",
            "different: table appstore.mine"
        ),
        (Release.steps + copies + "ALTER TABLE appstore.mine DROP CONSTRAINT mine_pkey", "missing: constraint mine_pkey on appstore.mine"),
    ])
    func `a step that leaves another schema than that of a new database fails, and nothing changes`(step: String, line: String) async throws
    {
        let (database, next) = try await scene(step)
        let before = try await database.fingerprint()
        let error = await #expect(throws: SchemaError.self) { try await database.migrate(next) }
        #expect(error?.code == .different)
        #expect(error?.description.contains(line) == true, "\(error?.description ?? "")")
        #expect(try await database.fingerprint() == before)
        #expect(try await database.lines("SELECT old FROM appstore.mine_gone") == ["old"])
    }

    @Test func `views and privileges of others survive an upgrade`() async throws {
        let (database, next) = try await scene()
        let role = "bi_\(database.name)"
        try await database.run(
            """
            CREATE ROLE \(role);
            CREATE SCHEMA bi;
            CREATE VIEW bi.active AS SELECT e.user_id, e.entitlement FROM appstore.entitlements AS e WHERE e.active;
            CREATE VIEW bi.mine AS SELECT m.kept FROM appstore.mine_3 AS m;
            GRANT USAGE ON SCHEMA appstore TO \(role);
            GRANT SELECT ON appstore.payments, appstore.contracts, appstore.mine, appstore.mine_1 TO \(role);
            GRANT SELECT (id, one, old), UPDATE (kept) ON appstore.mine_2 TO \(role);
            GRANT SELECT ON appstore.mine_gone, appstore.mine_3 TO \(role) WITH GRANT OPTION;
            GRANT EXECUTE ON FUNCTION appstore.mine_a, appstore.mine_typed TO \(role);
            """
        )
        try await database.migrate(next)
        #expect(try await database.differences(next) == [])
        #expect(try await database.lines("SELECT kept FROM bi.mine") == ["kept"])
        #expect(try await database.lines("SELECT count(*)::text FROM bi.active") == ["0"])
        let privileges = try await database.lines(
            """
            SELECT object || ' ' || privilege FROM (
                SELECT c.relname, a.privilege_type || CASE WHEN a.is_grantable THEN '*' ELSE '' END FROM pg_class AS c, aclexplode(c.relacl) AS a
                WHERE a.grantee = '\(unsafeRaw: role)'::regrole
                UNION ALL
                SELECT c.attrelid::regclass || '.' || c.attname, a.privilege_type FROM pg_attribute AS c, aclexplode(c.attacl) AS a
                WHERE a.grantee = '\(unsafeRaw: role)'::regrole
                UNION ALL
                SELECT p.oid::regprocedure::text, a.privilege_type FROM pg_proc AS p, aclexplode(p.proacl) AS a
                WHERE a.grantee = '\(unsafeRaw: role)'::regrole
            ) AS granted (object, privilege) ORDER BY (object || ' ' || privilege) COLLATE "C"
            """
        )
        #expect(
            privileges == [
                "appstore.mine_2.id SELECT", "appstore.mine_2.kept UPDATE", "appstore.mine_2.one SELECT",
                "appstore.mine_a(integer,integer) EXECUTE", "appstore.mine_typed(text) EXECUTE",
                "contracts SELECT", "mine SELECT", "mine_1 SELECT", "mine_3 SELECT*", "payments SELECT",
            ]
        )
        try await database.run("DROP OWNED BY \(role); DROP ROLE \(role)")
    }

    @Test(arguments: [
        ("CREATE VIEW public.mine AS SELECT m.old FROM appstore.mine_1 AS m", "view public.mine"),
        ("CREATE VIEW public.below AS SELECT m.one FROM appstore.mine_2 AS m", "view public.below"),
        ("CREATE VIEW public.on_table AS SELECT m.old FROM appstore.mine AS m", "view public.on_table"),
        ("CREATE TABLE public.calls (a bigint DEFAULT appstore.mine_a(1))", "table public.calls"),
        ("CREATE TRIGGER mine AFTER INSERT ON appstore.mine EXECUTE FUNCTION appstore.mine_gone()", "trigger mine on table appstore.mine"),
        ("CREATE VIEW appstore.by_hand AS SELECT m.old FROM appstore.mine_gone AS m", "view appstore.by_hand"),
        ("CREATE RULE mine AS ON INSERT TO appstore.mine_gone DO INSTEAD NOTHING", "rule mine on view appstore.mine_gone"),
        ("CREATE POLICY mine ON appstore.mine USING (appstore.mine_a(1) > 0)", "policy mine on table appstore.mine"),
        ("CREATE VIEW public.typed AS SELECT m.kept FROM appstore.mine AS m", "view public.typed"),
    ])
    func `an object of others that depends on a dropped one is named, and nothing changes`(script: String, name: String) async throws {
        let (database, next) = try await scene(Release.steps + Self.copies + "ALTER TABLE appstore.mine ALTER COLUMN kept TYPE varchar;")
        try await database.run(script)
        let before = try await database.fingerprint()
        let error = await #expect(throws: SchemaError.self) { try await database.migrate(next) }
        #expect(error?.code == .hasDependents)
        #expect(error?.description.contains(name) == true, "\(error?.description ?? "")")
        #expect(try await database.fingerprint() == before)
    }
}
