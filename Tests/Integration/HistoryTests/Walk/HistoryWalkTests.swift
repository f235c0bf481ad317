import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import Backfill

@Suite struct HistoryWalkTests {
    @Test func `what was never pushed is stored once, whatever windows list it again, and what was pushed is not`() async throws {
        try await HistoryScene.with { scene in
            let pushed = scene.record(2, "SUCCESS")
            let missed = (0..<8).map { scene.record(1 + Double($0) * 20) }
            scene.apple.change { $0.records = [pushed] + missed }
            try await scene.push(pushed)
            try await scene.work()
            try await scene.drain()
            try await scene.work()
            try await scene.store.classify()
            // The near walk reads its hour again.
            try await scene.execute("UPDATE appstore.history_cursors SET near_until = near_until - interval '3 hours'")
            try await scene.drain()
            let expected = missed.map { "\($0.uuid.uuidString.lowercased()) history_v2 1" }
            #expect(try await scene.events() == (expected + ["\(pushed.uuid.uuidString.lowercased()) notification_v2 1"]).sorted())
            #expect(try await scene.class(of: pushed) == "confirmed")
            for record in missed { #expect(try await scene.class(of: record) == "recovered") }
            #expect(
                try await scene.lines("SELECT concat_ws(' ', class, mode, records) FROM appstore.history_counts ORDER BY 1")
                    == ["confirmed beside 1", "recovered beside 8"]
            )
            #expect(try await scene.database.eventsNotExactlyOnce() == [])
        }
    }

    @Test func `windows are closed, fixed, and end five minutes ago; days of the past are read newest first`() async throws {
        try await HistoryScene.with { scene in
            try await scene.drain()
            let requests = scene.apple.requests
            #expect([30, 31, 32].contains(requests.count))
            #expect(requests.map(\.end) == requests.map(\.end).sorted(by: >))
            #expect(requests.allSatisfy { $0.end <= scene.now.advanced(by: .seconds(-295)).millisecondsSince1970 })
            for (later, earlier) in zip(requests, requests.dropFirst()) { #expect(later.start == earlier.end) }
            #expect(
                try await scene.lines(
                    """
                    SELECT (covered_to - covered_from >= interval '29 days 23 hours')::text FROM appstore.history_coverage
                    """
                ) == ["true"]
            )
            // The next quarter of an hour reads the hour before again.
            try await scene.execute("UPDATE appstore.history_cursors SET near_until = near_until - interval '15 minutes'")
            try await scene.drain()
            let near = try #require(scene.apple.requests.last)
            #expect(near.end - near.start >= 75 * 60_000 && (near.end - near.start) % (15 * 60_000) == 0)
        }
    }

    @Test(arguments: [1, 2]) func `a walk that is cancelled between any two steps goes on, and stores each record once`(workers: Int)
        async throws
    {
        try await HistoryScene.with { scene in
            let records = (0..<23).map { scene.record(73 + Double($0) / 20) }
            scene.apple.change { $0.records = records }
            try await scene.keepOneDay()
            var cuts = 0
            for round in 0..<200 {
                try await scene.makeDue()
                guard let window = try await scene.lease() else { break }
                // A second worker gets the window while the first one still believes that it has it.
                if workers == 2, round % 3 == 0 {
                    try await scene.makeDue()
                    let other = try #require(try await scene.lease())
                    _ = try await scene.walk(window)
                    #expect(try await scene.lines("SELECT epoch::text FROM appstore.history_windows WHERE is_leased") == ["\(other.epoch)"])
                    try await scene.makeDue()
                    continue
                }
                let beats = Mutex(0)
                let cut = 1 + round % 5
                let walk = Task {
                    try await scene.walk(window) {
                        let count = beats.withLock { count in
                            count += 1
                            return count
                        }
                        if count == cut { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                }
                if case .failure = await walk.result { cuts += 1 }
            }
            #expect(cuts > 3)
            #expect(try await scene.lines("SELECT state FROM appstore.history_windows") == ["done"])
            let uuids = try await scene.events()
            let day = Set(try await scene.classes().keys)
            #expect(uuids == day.map { "\($0) history_v2 1" }.sorted())
            #expect(
                try await scene.lines(
                    """
                    SELECT (stored = \(Int32(day.count)) AND listed = stored)::text FROM appstore.history_windows
                    """
                ) == ["true"]
            )
        }
    }

    @Test func `two services share the windows`() async throws {
        try await HistoryScene.with { scene in
            let records = (0..<120).map { scene.record(0.5 + Double($0) * 5) }
            scene.apple.change { $0.records = records }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 { group.addTask { try await scene.service().run() } }
                try await eventually("all windows are done") {
                    try await scene.lines(
                        """
                        SELECT (count(*) > 0 AND bool_and(state = 'done'))::text FROM appstore.history_windows
                        """
                    ) == ["true"]
                }
                group.cancelAll()
            }
            #expect(try await scene.events() == records.map { "\($0.uuid.uuidString.lowercased()) history_v2 1" }.sorted())
            #expect(try await scene.lines("SELECT count(*)::text FROM appstore.history_windows WHERE epoch <> 1") == ["0"])
        }
    }
}
