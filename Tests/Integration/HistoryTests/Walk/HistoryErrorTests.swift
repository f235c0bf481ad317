import AppStore
import Outbox
import Postgres
import StrictJSON
import Testing

@testable import Backfill

@Suite struct HistoryErrorTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let reason: String
        var script: [ExchangeOutcome?] = []
        var edit: (@Sendable (inout JSONObject) -> Void)?
        var testDescription: String { reason }
    }

    static let faults = [
        Fault(reason: "rate_limited", script: [nil, .answer(HTTPAnswer(status: 429))]),
        Fault(reason: "api_key", script: [nil, .answer(HTTPAnswer(status: 401))]),
        Fault(reason: "http_503", script: [nil, .answer(HTTPAnswer(status: 503))]),
        Fault(reason: "apple_5000000", script: [nil, MadeUpHistory.error(5_000_000, status: 500)]),
        Fault(reason: "timed_out", script: [nil, .failure(.timedOut)]),
        Fault(reason: "apple_4040007", script: [nil, MadeUpHistory.error(4_040_007, status: 404)]),
        Fault(reason: "apple_other", script: [nil, MadeUpHistory.error(4_009_999)]),
        Fault(reason: "answer_malformed", script: [nil, .answer(HTTPAnswer(status: 200, body: Array("{}".utf8)))]),
        Fault(
            reason: "answer_of_another_app",
            script: [nil, .answer(HTTPAnswer(status: 200, body: Array(#"{"hasMore":false,"environment":"Sandbox"}"#.utf8)))]
        ),
    ]

    @Test(arguments: faults) func `an answer that is no page leaves the window, its token and the coverage as they were`(_ fault: Fault)
        async throws
    {
        try await HistoryScene.with { scene in
            scene.apple.change { $0.records = (0..<5).map { scene.record(84 + Double($0) / 10) } }
            try await scene.keepOneDay()
            scene.apple.change { $0.script = fault.script }
            _ = try await scene.walk(try #require(try await scene.lease()))
            let standing = try await scene.standing()
            #expect(standing.contains { $0.contains(" open ") && $0.hasSuffix(" 1 3 3") })
            #expect(try await scene.lines("SELECT why FROM appstore.history_gaps") == [fault.reason])
            // The next attempt fails in the same way: nothing moves.
            scene.apple.change { $0.script = Array(fault.script.dropFirst()) }
            try await scene.makeDue()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.standing() == standing)
            // A key that was refused rests in this process.
            guard fault.reason != "api_key" else { return }
            try await scene.makeDue()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.lines("SELECT concat_ws(' ', state, stored, failures) FROM appstore.history_windows") == ["done 5 0"])
        }
    }

    static let edits: [(String, @Sendable (inout JSONObject) -> Void)] = [
        ("token_missing", { $0["paginationToken"] = nil }),
        ("token_missing", { $0["paginationToken"] = "" }),
        (
            "token_repeated",
            { answer in
                if answer["paginationToken"] != nil { answer["paginationToken"] = "again-3" }
                answer["hasMore"] = true
                answer["paginationToken"] = "again-3"
            }
        ),
        ("answer_malformed", { $0["hasMore"] = nil }),
        ("answer_malformed", { $0["notificationHistory"] = ["x"] }),
    ]

    @Test(arguments: edits.indices) func `a page without a usable token, or of another form, is an error`(_ index: Int) async throws {
        let (reason, edit) = Self.edits[index]
        try await HistoryScene.with { scene in
            scene.apple.change { state in
                state.records = (0..<7).map { scene.record(84 + Double($0) / 10) }
                state.edit = edit
            }
            try await scene.keepOneDay()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.lines("SELECT why || ' ' || failures FROM appstore.history_gaps") == ["\(reason) 1"])
            scene.apple.change { $0.edit = nil }
            try await scene.makeDue()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.lines("SELECT state || ' ' || stored FROM appstore.history_windows") == ["done 7"])
        }
    }

    @Test(arguments: [2049, 10_000, 65_536, 150_000, 1_000_000])
    func `a token that is too long for a URL is an error, and is not stored`(size: Int) async throws {
        try await HistoryScene.with { scene in
            scene.apple.change { state in
                state.records = (0..<7).map { scene.record(84 + Double($0) / 10) }
                state.edit = { $0["paginationToken"] = .string(String(repeating: "t", count: size)) }
            }
            try await scene.keepOneDay()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(
                try await scene.lines("SELECT concat_ws(' ', last_error, stored, token) FROM appstore.history_windows")
                    == ["token_too_long 0"]
            )
            let error = await #expect(throws: PostgresError.self) {
                try await scene.execute("UPDATE appstore.history_windows SET token = repeat('t', \(Int32(size)))")
            }
            #expect(error.map { "\($0)".contains("history_windows_token_is_short") } == true)
            scene.apple.change { $0.edit = nil }
            try await scene.makeDue()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.lines("SELECT state || ' ' || stored FROM appstore.history_windows") == ["done 7"])
        }
    }

    @Test(arguments: [1, 10, 100, 1000, 2048]) func `a token that fits into a URL is taken as it is`(size: Int) throws {
        let token = String(repeating: "/", count: size)
        let body = JSONSerializer.serialize(["hasMore": true, "paginationToken": .string(token)] as JSONObject)
        #expect(try HistoryPage(body, of: CallLane("com.example.app", .production), after: []).token == token)
    }

    @Test func `a record of another app is an error, and nothing of its page is stored`() async throws {
        try await HistoryScene.with { scene in
            var foreign = scene.record(84)
            foreign.bundleID = "com.example.other"
            scene.apple.change { $0.records = [scene.record(84.1), foreign] }
            try await scene.keepOneDay()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.lines("SELECT why FROM appstore.history_gaps") == ["answer_of_another_app"])
            #expect(try await scene.events() == [])
        }
    }

    @Test func `a start that is too old moves by hours, and the edge is remembered`() async throws {
        try await HistoryScene.with { scene in
            scene.apple.change { $0.edge = scene.ago(29 * 24 + 3.5) }
            try await scene.drain()
            #expect(
                try await scene.lines(
                    """
                    SELECT (edge BETWEEN \(Self.at(scene.ago(29 * 24 + 3.5))) AND \(Self.at(scene.ago(29 * 24 + 2.4))))::text FROM
                    appstore.history_cursors
                    """
                ) == ["true"]
            )
            #expect(try await scene.lines("SELECT count(*)::text FROM appstore.history_gaps") == ["0"])
            #expect(try await scene.lines("SELECT (covered_from = edge)::text FROM appstore.history_coverage") == ["true"])
        }
    }

    @Test func `an attempt of an unknown form keeps no notification from the inbox`() async throws {
        try await HistoryScene.with { scene in
            let records = (0..<3).map { scene.record(84 + Double($0) / 10) }
            let odd: [JSONValue] = [
                "later", [["attemptDate": "soon", "sendAttemptResult": "SUCCESS"], ["sendAttemptResult": 7]],
                [["attemptDate": 1_700_000_000_000, "sendAttemptResult": "NEW\u{0} RESULT é"]],
            ]
            scene.apple.change { state in
                state.records = records
                state.edit = { answer in
                    guard case .array(let listed)? = answer["notificationHistory"] else { return }
                    answer["notificationHistory"] = .array(
                        zip(listed, odd).map { element, attempts in
                            guard case .object(var record) = element else { return element }
                            record["sendAttempts"] = attempts
                            return .object(record)
                        }
                    )
                }
            }
            try await scene.keepOneDay()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.events().count == 3)
            #expect(
                try await scene.lines("SELECT concat_ws(' ', class, attempts, last_result) FROM appstore.history_records ORDER BY 1")
                    == ["recovered 0", "recovered 0", "recovered 1 NEWRESULT"]
            )
        }
    }

    @Test func `a page that the database does not take is a failure of its window, and is asked for again`() async throws {
        try await HistoryScene.with { scene in
            scene.apple.change { $0.records = [scene.record(84)] }
            try await scene.keepOneDay()
            try await scene.execute("ALTER TABLE appstore.history_records ADD CONSTRAINT refuse CHECK (attempts = 0)")
            _ = try await scene.walk(try #require(try await scene.lease()))
            let gap: Statement = "SELECT concat_ws(' ', why, failures, failing_since IS NOT NULL) FROM appstore.history_gaps"
            #expect(try await scene.lines(gap) == ["page_not_taken 1 t"])
            try await scene.execute("ALTER TABLE appstore.history_records DROP CONSTRAINT refuse")
            try await scene.makeDue()
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.lines("SELECT state FROM appstore.history_windows") == ["done"])
        }
    }

    @Test func `mode off ends a walk after its page, and walk goes on there`() async throws {
        try await HistoryScene.with { scene in
            scene.apple.change { $0.records = (0..<7).map { scene.record(84 + Double($0) / 10) } }
            try await scene.keepOneDay()
            let window = try #require(try await scene.lease())
            let off: Statement = "SELECT appstore.set_history_mode('com.example.app', 'Production', 'off')"
            try await scene.execute(off)
            _ = try await scene.walk(window)
            #expect(scene.apple.requests.count == 1)
            #expect(try await scene.events() == [])
            #expect(try await scene.lines("SELECT concat_ws(' ', why, failures) FROM appstore.history_gaps") == ["off 0"])
            #expect(try await scene.lease() == nil)
            try await scene.execute("SELECT appstore.set_history_mode('com.example.app', 'Production', 'walk')")
            _ = try await scene.walk(try #require(try await scene.lease()))
            #expect(try await scene.events().count == 7)
        }
    }

    @Test func `a worker whose key Apple refuses leaves the windows to others`() async throws {
        try await HistoryScene.with { scene in
            try await scene.keepOneDay()
            scene.apple.change { $0.script = [.answer(HTTPAnswer(status: 401))] }
            _ = try await scene.walk(try #require(try await scene.lease()))
            try await scene.makeDue()
            // A new service: the walk's end rests in no dispatcher of it.
            let beats = AsyncStream.makeStream(of: Void.self)
            let service = scene.service(beat: { beats.continuation.yield() })
            let run = Task { try await service.run() }
            for await _ in beats.stream.dropFirst(20) { break }
            run.cancel()
            _ = try await run.value
            #expect(try await scene.lines("SELECT max(epoch)::text FROM appstore.history_windows") == ["1"])
            #expect(scene.apple.requests.count == 1)
        }
    }

    @Test func `a token that expires restarts its window, and halves it after five times`() async throws {
        try await HistoryScene.with { scene in
            scene.apple.change { state in
                state.records = (0..<40).map { scene.record(73 + Double($0) / 2) }
                state.longest = .seconds(6 * 3600)
            }
            try await scene.keepOneDay()
            // Each time after a pause: the same pages are not read in a circle.
            for _ in 0..<40 {
                try await scene.makeDue()
                guard let window = try await scene.lease() else { break }
                let requests = scene.apple.requests.count
                _ = try await scene.walk(window)
                guard window.end.millisecondsSince1970 - window.start.millisecondsSince1970 == 86_400_000 else { continue }
                #expect(scene.apple.requests.count == requests + 2)
                let paused: Statement =
                    "SELECT count(*)::text FROM appstore.history_gaps WHERE why = 'apple_4000017' AND next_run_at > now()"
                #expect(try await scene.lines(paused) == ["1"])
            }
            let windows = try await scene.lines(
                """
                SELECT concat_ws(' ', state, ends_at - starts_at) FROM appstore.history_windows ORDER BY starts_at
                """
            )
            #expect(windows == Array(repeating: "done 06:00:00", count: 4))
            #expect(scene.apple.requests.count { $0.end - $0.start == 86_400_000 } == 10)
            #expect(try await scene.events().allSatisfy { $0.hasSuffix("history_v2 1") })
            let day = try await scene.lines("SELECT sum(stored)::text FROM appstore.history_windows")
            #expect(day == ["\(try await scene.events().count)"])
        }
    }

    private static func at(_ instant: Timestamp) -> PostgresTimestamp {
        PostgresTimestamp(millisecondsSince1970: instant.millisecondsSince1970)
    }
}
