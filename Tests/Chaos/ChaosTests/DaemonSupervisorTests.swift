import EndToEndTesting
import Foundation
import Glibc
import PostgresTesting
import Testing

/// A run must notice a daemon that hangs: otherwise it could not fail for it.
@Suite(.timeLimit(.minutes(2))) struct DaemonSupervisorTests {
    @Test func `a daemon that ignores SIGTERM is noticed, killed and replaced`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-supervisor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let settings = [
            "APPSTORE_INBOX_DATABASE_URL": "host=/nonexistent", "APPSTORE_INBOX_LISTEN": "127.0.0.1:\(FreePort.find())",
            "APPSTORE_INBOX_ADMIN_LISTEN": "127.0.0.1:\(FreePort.find())",
        ]
        let supervisor = DaemonSupervisor("ingest", settings: settings, folder: folder, watchdog: .seconds(60), endTimeout: .seconds(3))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            try await eventually("a daemon runs") { supervisor.history.starts == 1 }
            // A stopped process handles no SIGTERM.
            group.addTask { _ = try await supervisor.freeze(for: .seconds(9)) }
            try await eventually("the stopped daemon receives SIGTERM") { supervisor.isFrozen && supervisor.end(with: SIGTERM) }
            try await eventually("another one is started") { supervisor.history.starts == 2 }
            supervisor.close()
            try await group.waitForAll()
        }
        #expect(supervisor.history.daemonFailures.count == 1)
        #expect(
            supervisor.history.daemonFailures.first?.contains("alive 3.0 seconds after SIGTERM") == true,
            "\(supervisor.history.daemonFailures)"
        )
        try FileManager.default.removeItem(at: folder)
    }
}
