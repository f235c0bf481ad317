import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import Randomness
import Testing

@testable import Backfill

@Suite struct HistoryClassTests {
    @Test func `a hole holds the coverage back until it is read`() async throws {
        try await HistoryScene.with { scene in
            try await scene.drain()
            let covered: Statement = "SELECT (age < interval '30 minutes')::text || ' ' || open_windows FROM appstore.history_coverage"
            #expect(try await scene.lines(covered) == ["true 0"])
            // Twelve hours were not read, then a window fails and the next one does not.
            try await scene.execute(
                """
                UPDATE appstore.history_cursors SET near_until = near_until - interval '12 hours', covered = covered -
                tstzmultirange(tstzrange(near_until - interval '12 hours', NULL)), anchor = near_until - interval '12 hours'
                """
            )
            scene.apple.change { $0.script = [MadeUpHistory.error(5_000_000, status: 500)] }
            try await scene.drain()
            try await scene.execute("UPDATE appstore.history_windows SET ends_at = ends_at - interval '6 hours' WHERE state = 'open'")
            try await scene.execute("UPDATE appstore.history_cursors SET near_until = near_until - interval '3 hours'")
            try await scene.drain()
            #expect(
                try await scene.lines(
                    """
                    SELECT (age > interval '12 hours')::text || ' ' || open_windows FROM appstore.history_coverage
                    """
                ) == ["true 1"]
            )
            #expect(try await scene.lines("SELECT why FROM appstore.history_gaps") == ["apple_5000000"])
            try await scene.execute("UPDATE appstore.history_windows SET ends_at = ends_at + interval '6 hours' WHERE state = 'open'")
            try await scene.makeDue()
            try await scene.drain()
            #expect(try await scene.lines(covered) == ["true 0"])
        }
    }

    @Test func `a second walk finds what was listed late, and reads more of the past from then on`() async throws {
        try await HistoryScene.with { scene in
            var late = scene.record(9.5 * 24)
            late.isLate = true
            scene.apple.change { $0.records = [late, scene.record(9.4 * 24)] }
            try await scene.drain()
            #expect(try await scene.class(of: late) == nil)
            scene.apple.change { $0.records[0].isLate = false }
            try await scene.execute("UPDATE appstore.history_cursors SET second_until = second_until - interval '3 days'")
            try await scene.drain()
            #expect(
                try await scene.lines(
                    """
                    SELECT count(*)::text || ' ' || sum(stored) FROM appstore.history_windows WHERE kind = 'second'
                    """
                ) == ["3 1"]
            )
            #expect(try await scene.lines("SELECT overlap::text FROM appstore.history_cursors") == ["02:00:00"])
            try await scene.work()
            try await scene.store.classify()
            #expect(try await scene.class(of: late) == "recovered")
        }
    }

    @Test func `in mode beside what another server took is counted apart, and off asks nothing`() async throws {
        try await HistoryScene.with { scene in
            let before = scene.record(30, "SUCCESS")
            scene.apple.change { $0.records = [before] }
            try await scene.drain()
            try await scene.execute("SELECT appstore.set_history_mode('com.example.app', 'Production', 'beside')")
            // Signed after the row was made.
            try await scene.execute(
                """
                UPDATE appstore.history_cursors SET walks_since = walks_since - interval '1 day', near_until = near_until - interval '3
                hours'
                """
            )
            let beside = scene.record(2, "SUCCESS")
            scene.apple.change { $0.records.append(beside) }
            try await scene.drain()
            try await scene.execute("SELECT appstore.set_history_mode('com.example.app', 'Production', 'walk')")
            try await scene.execute(
                """
                UPDATE appstore.history_cursors SET walks_since = walks_since - interval '1 day', near_until = near_until - interval '3
                hours'
                """
            )
            let after = scene.record(1.5, "SUCCESS")
            scene.apple.change { $0.records.append(after) }
            try await scene.drain()
            try await scene.work()
            try await scene.store.classify()
            #expect(
                try await scene.lines("SELECT concat_ws(' ', class, mode, records) FROM appstore.history_counts ORDER BY 1")
                    == ["taken_elsewhere beside 2", "taken_elsewhere walk 1"]
            )
            try await scene.execute("SELECT appstore.set_history_mode('com.example.app', 'Production', 'off')")
            try await scene.execute("UPDATE appstore.history_cursors SET near_until = near_until - interval '3 hours'")
            let asked = scene.apple.requests.count
            try await scene.drain()
            #expect(scene.apple.requests.count == asked)
            #expect(
                try await scene.lines(
                    """
                    SELECT action || ' ' || (details ->> 'mode') FROM appstore.audit_log ORDER BY audit_id
                    """
                ) == ["set_history_mode beside", "set_history_mode walk", "set_history_mode off"]
            )
        }
    }

    @Test func `walking since an earlier day reads the days before, and no more than Apple keeps`() async throws {
        try await HistoryScene.with { scene in
            try await scene.drain()
            let asked = scene.apple.requests.count
            #expect(
                try await scene.lines(
                    """
                    SELECT appstore.walk_history('com.example.app', 'Production', clock_timestamp() - interval '40 days')::text
                    """
                ) == ["11"]
            )
            #expect(
                try await scene.lines(
                    """
                    SELECT appstore.walk_history('com.example.app', 'Production', clock_timestamp() - interval '35 days')::text
                    """
                ) == ["0"]
            )
            try await scene.drain()
            #expect(scene.apple.requests.count == asked + 11)
            #expect(try await scene.lines("SELECT (covered_from = since)::text FROM appstore.history_coverage") == ["true"])
            let refused = [
                "'com.example.app', 'Production', clock_timestamp() - interval '181 days'",
                "'com.example.none', 'Production', now() - interval '9 days'",
            ]
            for arguments in refused {
                await #expect(throws: PostgresError.self) {
                    try await scene.execute("SELECT appstore.walk_history(\(unsafeRaw: arguments))")
                }
            }
        }
    }

    @Test func `aged records are deleted and stay counted`() async throws {
        try await HistoryScene.with { scene in
            scene.apple.change { $0.records = [scene.record(2), scene.record(50)] }
            try await scene.drain()
            try await scene.work()
            try await scene.store.classify()
            try await scene.execute("UPDATE appstore.history_records SET listed_at = listed_at - interval '31 days'")
            try await scene.execute("UPDATE appstore.history_windows SET closed_at = closed_at - interval '31 days'")
            #expect(try await scene.lines("SELECT (appstore.expire_history() >= 30)::text") == ["true"])
            #expect(try await scene.classes().isEmpty)
            #expect(try await scene.lines("SELECT recovered::text FROM appstore.history_coverage") == ["2"])
        }
    }

    private enum Fate: CaseIterable {
        case pushed, waiting, failed, givenUp, takenElsewhere, late, refused, unlisted, inFlight, inFlightPushed, inFlightFailed
    }

    @Test func `whatever became of a notification, it is in the inbox and has the class of a model`() async throws {
        for seed in UInt64(1)...3 {
            try await HistoryScene.with { scene in
                var random = SeededGenerator(seed: seed)
                var fates: [(fate: Fate, record: MadeUpHistory.Record)] = []
                for _ in 0..<150 {
                    let fate = try #require(Fate.allCases.randomElement(using: &random))
                    let hours =
                        switch fate {
                        case .late, .unlisted: Double.random(in: 9.1 * 24...9.9 * 24, using: &random)
                        default: Double.random(in: 0.5...29 * 24, using: &random)
                        }
                    fates.append((fate, Self.record(fate, hours, scene)))
                }
                scene.apple.change { state in
                    state.records = fates.filter { $0.fate != .unlisted }.map(\.record)
                    state.pageSize = Int.random(in: 1...20, using: &random)
                }
                // 1. What was pushed and settled before the walk, then what still waits during it.
                for (fate, record) in fates where [.pushed, .refused, .unlisted].contains(fate) { try await scene.push(record) }
                try await scene.work()
                try await scene.execute(
                    """
                    UPDATE appstore.outcomes SET settled_at = settled_at - interval '9 days 12 hours', received_at = received_at - interval '9 days 12 hours'
                    """
                )
                for (fate, record) in fates where fate == .waiting { try await scene.push(record) }
                try await scene.drain()
                for (fate, record) in fates where fate == .inFlightPushed { try await scene.push(record) }
                try await scene.work()
                try await scene.store.classify()
                // 2. The second walk lists what was late; attempts that were in flight have ended.
                scene.apple.change { state in
                    for index in state.records.indices {
                        state.records[index].isLate = false
                        for attempt in state.records[index].attempts.indices
                        where state.records[index].attempts[attempt].result == "IN_FLIGHT" {
                            state.records[index].attempts[attempt] = (scene.ago(0.1), "TIMED_OUT")
                        }
                    }
                }
                try await scene.execute(
                    """
                    UPDATE appstore.history_cursors SET second_until = second_until - interval '3 days', near_until = anchor - interval '29 days'
                    """
                )
                try await scene.drain()
                try await scene.work()
                try await scene.store.classify()
                // 3. The model.
                let (classes, events) = (try await scene.classes(), try await scene.events())
                for (fate, record) in fates {
                    let uuid = record.uuid.uuidString.lowercased()
                    #expect(classes[uuid] == Self.class(fate), "seed \(seed), \(fate)")
                    #expect(events.filter { $0.hasPrefix(uuid) } == Self.events(fate).map { "\(uuid) \($0) 1" }, "seed \(seed), \(fate)")
                }
                #expect(classes.count == fates.count, "seed \(seed)")
                let open = fates.count { Self.class($0.fate).hasSuffix("?") }
                #expect(
                    try await scene.lines("SELECT sum(records)::text FROM appstore.history_counts") == ["\(fates.count - open)"],
                    "seed \(seed)"
                )
                #expect(try await scene.database.eventsNotExactlyOnce() == [], "seed \(seed)")
            }
        }
    }

    private static func record(_ fate: Fate, _ hours: Double, _ scene: HistoryScene) -> MadeUpHistory.Record {
        var record = scene.record(hours, [.pushed, .waiting, .takenElsewhere, .refused].contains(fate) ? "SUCCESS" : "TIMED_OUT")
        if fate == .takenElsewhere { record.attempts.append((record.attempts[0].date.advanced(by: .seconds(-1)), "TLS_ISSUE")) }
        if fate == .givenUp { record.attempts = (0..<6).map { (scene.ago(hours - Double($0) / 100), "NO_RESPONSE") } }
        if fate == .inFlight || fate == .inFlightPushed { record.attempts = [(scene.ago(-0.05), "NO_RESPONSE")] }
        if fate == .inFlightFailed { record.attempts = [(scene.ago(-0.05), "IN_FLIGHT")] }
        record.isLate = fate == .late
        record.isForged = fate == .refused
        return record
    }

    private static func `class`(_ fate: Fate) -> String {
        switch fate {
        case .pushed, .waiting: "confirmed"
        case .failed, .givenUp, .late, .inFlightFailed: "recovered"
        case .takenElsewhere: "taken_elsewhere"
        case .refused: "refused_here"
        case .unlisted: "unlisted"
        case .inFlight, .inFlightPushed: "in_flight?"
        }
    }

    private static func events(_ fate: Fate) -> [String] {
        switch fate {
        case .pushed, .unlisted: ["notification_v2"]
        case .waiting, .refused, .inFlightPushed: ["history_v2", "notification_v2"]
        default: ["history_v2"]
        }
    }
}
