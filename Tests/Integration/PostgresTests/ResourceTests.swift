import Foundation
import Postgres
import PostgresTesting
import Testing

/// The resources of connections. Serialized: the tests count threads and descriptors of the whole process.
@Suite(.serialized) struct ResourceTests {
    @Test func `waiting for the database does not block Swift's threads`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let pool = ConnectionPool(
            options: try ConnectionOptions(database.url()),
            configuration: .init(maxConnections: 64, acquireTimeout: .seconds(30)),
            logger: .silent
        )
        let admin = try await connect(database)
        try await admin.execute("SELECT FROM pg_advisory_lock(1)")
        // More waiting statements than cooperative threads: if they blocked these, the unlock below could not run.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask { try await pool.withConnection { _ = try await $0.execute("SELECT FROM pg_advisory_lock_shared(1)") } }
            }
            try await eventually("64 statements waiting for the lock", within: .seconds(30)) {
                try await admin.query(
                    """
                    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """
                )[0].decode(0) == Int64(64)
            }
            try await admin.execute("SELECT FROM pg_advisory_unlock(1)")
            try await group.waitForAll()
        }
        await pool.close()
        await admin.close()
    }

    @Test func `closed, dropped, broken and refused connections leave no thread and no descriptor`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let admin = try await connect(database)
        let before = try ResourceCount.current()
        for _ in 0..<5 {
            let closed = try await connect(database)
            _ = try await closed.query("SELECT 1")
            await closed.close()
            var dropped: Connection? = try await connect(database)
            _ = try await dropped?.query("SELECT 1")
            dropped = nil
            let broken = try await connect(database)
            try await admin.execute("SELECT pg_terminate_backend(\(try await broken.backend()))")
            _ = try await postgresError { try await broken.query("SELECT 1") }
            let nowhere = try ConnectionOptions("host=127.0.0.1 port=\(FreePort.find()) user=nobody")
            _ = try await postgresError { try await Connection.open(nowhere, logger: .silent) }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await connect(database) }
                group.cancelAll()
            }
        }
        // Other suites open connections at the same time.
        try await eventually("end of all threads and descriptors: \(before)", within: .seconds(120)) {
            try ResourceCount.current() <= before
        }
        await admin.close()
    }
}

/// The numbers of connection threads, and of sockets and eventfds, of this process.
private struct ResourceCount {
    let threads: Int
    let descriptors: Int

    static func current() throws -> ResourceCount {
        let manager = FileManager.default
        let threads = try manager.contentsOfDirectory(atPath: "/proc/self/task").filter { thread in
            // A thread may end during the read.
            let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            return name?.hasPrefix("postgres") == true
        }
        let descriptors = try manager.contentsOfDirectory(atPath: "/proc/self/fd").filter { descriptor in
            let target = try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return target?.hasPrefix("socket:") == true || target == "anon_inode:[eventfd]"
        }
        return ResourceCount(threads: threads.count, descriptors: descriptors.count)
    }

    static func <= (left: ResourceCount, right: ResourceCount) -> Bool {
        left.threads <= right.threads && left.descriptors <= right.descriptors
    }
}
