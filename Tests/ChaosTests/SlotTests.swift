import EndToEndTesting
import Foundation
import Glibc
import PostgresTesting
import Testing

/// A daemon that hangs must be seen by the run, or the run could not fail for it.
@Suite(.timeLimit(.minutes(2))) struct SlotTests {
    @Test func `a daemon that ignores SIGTERM is noticed, killed and replaced`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-slot-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let settings = [
            "APPSTORE_INBOX_DATABASE_URL": "host=/nonexistent", "APPSTORE_INBOX_LISTEN": "127.0.0.1:\(FreePort.find())",
            "APPSTORE_INBOX_ADMIN_LISTEN": "127.0.0.1:\(FreePort.find())",
        ]
        let slot = Slot("ingest", settings: settings, folder: folder, watchdog: .seconds(60), endPatience: .seconds(3))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await slot.run() }
            try await eventually("there is a daemon") { slot.history.starts == 1 }
            // Stopped, it takes no notice of anything.
            group.addTask { _ = try await slot.freeze(for: .seconds(9)) }
            try await eventually("it is told to end") { slot.isFrozen && slot.end(with: SIGTERM) }
            try await eventually("another one is started") { slot.history.starts == 2 }
            slot.close()
            try await group.waitForAll()
        }
        #expect(slot.history.complaints.count == 1)
        #expect(slot.history.complaints.first?.contains("alive 3.0 seconds after it was told to end") == true, "\(slot.history.complaints)")
        try FileManager.default.removeItem(at: folder)
    }
}
