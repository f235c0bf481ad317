import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What one call of `appstore.receive` takes.
struct ReceiveLimitTests {
    private func receive(_ count: Int, ofBytes bytes: Int, in database: TestDatabase) async throws -> Int {
        try await database.withConnection(user: "appstore_ingest") { connection in
            let bodies = [[UInt8]](repeating: [UInt8](repeating: 0x78, count: bytes), count: count)
            return try await connection.query("SELECT appstore.receive(\(bodies))").count
        }
    }

    @Test(arguments: [(65, 1), (3, 3 << 20), (9, 1 << 20)])
    func `a call with more than 64 bodies or 8 MB is refused and stores none`(count: Int, bytes: Int) async throws {
        let database = try await InboxDatabase.make()
        let error = await #expect(throws: PostgresError.self) { _ = try await receive(count, ofBytes: bytes, in: database) }
        #expect(error?.sqlState?.rawValue == "54000")
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["0"])
    }

    @Test(arguments: [(64, 1), (64, 1 << 17), (2, 4 << 20)])
    func `a call with 64 bodies or 8 MB is stored`(count: Int, bytes: Int) async throws {
        let database = try await InboxDatabase.make()
        #expect(try await receive(count, ofBytes: bytes, in: database) == count)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["\(count)"])
    }
}
