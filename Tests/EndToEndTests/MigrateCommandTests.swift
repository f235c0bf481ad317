import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
    @Suite struct MigrateCommandTests {
        @Test func `migrate brings an empty database to the schema and then changes nothing`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            let first = try await migrate(database)
            #expect(first.ending == .exit(0))
            #expect(first.output.contains("m0001_create_inbox"))
            let books = try Books(url: database.url())
            let applied = try await books.values("SELECT to_jsonb(m)::text FROM appstore.schema_migrations AS m ORDER BY version")
            #expect(!applied.isEmpty)

            let second = try await migrate(database)
            #expect(second.ending == .exit(0))
            #expect(second.output == "The schema is current.\n")
            #expect(try await books.values("SELECT to_jsonb(m)::text FROM appstore.schema_migrations AS m ORDER BY version") == applied)
            await books.close()
        }

        @Test func `several runs at once make the schema once`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            let results = try await withThrowingTaskGroup(of: Program.Result.self) { group in
                for _ in 0..<3 { group.addTask { try await migrate(database) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for result in results { #expect(result.ending == .exit(0), "\(result.errors)") }
            #expect(results.filter { $0.output.contains("m0001_create_inbox") }.count == 1)
            let books = try Books(url: database.url())
            let versions = try await books.values("SELECT m.version::text FROM appstore.schema_migrations AS m ORDER BY m.version")
            #expect(versions == (1...versions.count).map(String.init))
            await books.close()
        }

        @Test func `a role that may not make the schema is told so`() async throws {
            let database = try await TestCluster.shared.makeDatabase()
            _ = try await migrate(try await TestCluster.shared.makeDatabase())  // the cluster has the roles now
            let result = try await Program.run(
                ["migrate"],
                settings: ["APPSTORE_INBOX_DATABASE_URL": database.url(user: "appstore_viewer")]
            )
            #expect(result.ending == .exit(1))
            #expect(result.errors.contains("permission denied") || result.errors.contains("appstore_owner"), "\(result.errors)")
        }

        private func migrate(_ database: TestDatabase) async throws -> Program.Result {
            try await Program.run(["migrate"], settings: ["APPSTORE_INBOX_DATABASE_URL": database.url()])
        }
    }
}
