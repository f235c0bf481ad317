import Foundation
import Postgres
import PostgresTesting
import Testing

/// What connections take from the process. Serialized: they count threads and descriptors of the whole process.
@Suite(.serialized) struct ResourceTests {
    @Test func `waiting for the database holds up nobody else`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let pool = ConnectionPool(
            options: try ConnectionOptions(database.url()),
            configuration: .init(maxConnections: 64, acquireTimeout: .seconds(30)),
            logger: .silent
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { _ = try await pool.withConnection { try await $0.backend() } } }
            try await group.waitForAll()
        }
        let start = ContinuousClock.now
        let ticks = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var ticks = 0
                while ContinuousClock.now - start < .milliseconds(200) {
                    ticks += 1
                    await Task.yield()
                }
                return ticks
            }
            for _ in 0..<64 {
                group.addTask { try await pool.withConnection { try await $0.query("SELECT pg_sleep(0.2)").count - 1 } }
            }
            return try await group.reduce(0, +)
        }
        let elapsed = ContinuousClock.now - start
        #expect(elapsed < .seconds(4), "64 naps of 0.2 s took \(elapsed)")
        #expect(ticks > 5)
        await pool.close()
    }

    @Test func `closed, dropped, broken and refused connections leave no thread and no descriptor`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let admin = try await connect(database)
        let before = try Census.take()
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
        try await eventually("end of all threads and descriptors: \(before)") { try Census.take() <= before }
        await admin.close()
    }
}

/// How many connection threads, sockets and eventfds this process has.
private struct Census {
    let threads: Int
    let descriptors: Int

    static func take() throws -> Census {
        let manager = FileManager.default
        let threads = try manager.contentsOfDirectory(atPath: "/proc/self/task").filter { thread in
            // A thread may end while we read.
            let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            return name?.hasPrefix("postgres") == true
        }
        let descriptors = try manager.contentsOfDirectory(atPath: "/proc/self/fd").filter { descriptor in
            let target = try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return target?.hasPrefix("socket:") == true || target == "anon_inode:[eventfd]"
        }
        return Census(threads: threads.count, descriptors: descriptors.count)
    }

    static func <= (left: Census, right: Census) -> Bool {
        left.threads <= right.threads && left.descriptors <= right.descriptors
    }
}
