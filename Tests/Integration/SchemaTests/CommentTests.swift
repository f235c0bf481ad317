import Foundation
import InboxTesting
import Postgres
import Testing

/// What psql shows of each object: its comment.
struct CommentTests {
    private static let readme = URL(filePath: #filePath).appending(path: "../../../../sql/README.md").standardized

    /// The names in backticks in the part "Columns" of the reference, which explains them for all tables and views.
    private static func explained() throws -> Set<String> {
        let text = try String(contentsOf: readme, encoding: .utf8)
        let part = text.components(separatedBy: "\n## Columns\n").last?.components(separatedBy: "\n## ").first ?? ""
        return Set(part.matches(of: /`([a-z_0-9]+)`/).map { String($0.1) })
    }

    @Test func `every table, view, function and type has a comment`() async throws {
        let database = try await InboxDatabase.make()
        let without = try await database.lines(
            """
            SELECT c.oid::regclass::text FROM pg_class AS c
            WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.relkind IN ('r', 'p', 'v') AND obj_description(c.oid, 'pg_class') IS NULL
            UNION ALL
            SELECT p.oid::regprocedure::text FROM pg_proc AS p
            WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND obj_description(p.oid, 'pg_proc') IS NULL
            UNION ALL
            SELECT t.oid::regtype::text FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = t.typrelid
            WHERE t.typnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND (t.typtype IN ('e', 'd') OR c.relkind = 'c')
              AND obj_description(t.oid, 'pg_type') IS NULL
            """
        )
        #expect(without == [])
    }

    @Test func `every column has a comment, or the reference explains its name`() async throws {
        let explained = try Self.explained()
        #expect(explained.count >= 40 && explained.isSuperset(of: ["environment", "expires_date"]))
        let database = try await InboxDatabase.make()
        let without = try await database.lines(
            """
            SELECT c.relname || '.' || a.attname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
            WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
              AND a.attnum > 0 AND NOT a.attisdropped AND col_description(c.oid, a.attnum) IS NULL
            """
        )
        let unexplained = without.filter { line in
            let name = line.split(separator: ".")[1]
            return !explained.contains(String(name)) && !explained.contains(String(name.trimmingPrefix(/renewal_|receipt_/)))
        }
        #expect(unexplained == [])
    }
}
