import AppStore
import Outbox
import Postgres
import ServiceSupport
import Testing

@testable import Backfill

/// Apple, or the way to it, is down.
@Suite struct ImportSilenceTests {
    private func failures(_ scene: ImportScene) async throws -> [String] {
        try await scene.lines("SELECT DISTINCT concat_ws(' ', state, failures, reason) FROM appstore.import_items")
    }

    static let outages: [ExchangeOutcome] = [
        .answer(.init(status: 503)), .failure(.timedOut), MadeUpCustomers.error(5_000_000, status: 500),
    ]

    @Test(arguments: outages)
    func `an outage of Apple's is the fault of no id, and cuts no further chunk`(outage: ExchangeOutcome) async throws {
        try await ImportScene.with { scene in
            let ids = (1000..<2000).map { "\($0)" }
            scene.apple.change { state in
                state.customers = ids.map { .init([$0]) }
                state.fault = { _ in outage }
            }
            try await scene.load("transaction_id\n" + ids.map { $0 + "\n" }.joined())
            for _ in 0..<20 {
                for chunk in try await scene.lease(4) {
                    guard case .silent = try await scene.walk(chunk) else {
                        Issue.record("the lane does not rest")
                        return
                    }
                }
            }
            // The first lease asks three ids, each later one a single id.
            #expect(scene.apple.asked.count <= 20 * 8 + 2)
            #expect(try await failures(scene) == ["open 0"])
            let chunks = "SELECT sum(failures) || ' ' || (count(*) <= 8)::text FROM appstore.import_chunks" as Statement
            #expect(try await scene.lines(chunks) == ["0 true"])
            #expect(try await scene.lines("SELECT (failing_with IS NOT NULL)::text FROM appstore.import_status") == ["true"])
            scene.apple.change { $0.fault = nil }
            try await scene.drain()
            #expect(try await scene.imports() == ["1 done 1000 0 0 0 0 0"])
        }
    }

    @Test func `ids that always fail keep no other one from being asked`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { state in
                state.customers = [.init(["40"]), .init(["50"])]
                state.fault = { ["10", "20", "30"].contains($0.id) ? .answer(.init(status: 500)) : nil }
            }
            try await scene.load("transaction_id\n10\n20\n30\n40\n50\n")
            for _ in 0..<200 {
                try await scene.drain()
                try await scene.makeDue()
            }
            #expect(try await scene.lines("SELECT id FROM appstore.import_items WHERE state = 'found' ORDER BY 1") == ["40", "50"])
        }
    }

    @Test func `ids that Apple never answers fail after a day, however often the workers are restarted`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.fault = { _ in .answer(.init(status: 500)) } }
            try await scene.load("transaction_id\n10\n20\n30\n")
            for _ in 0..<25 {
                // Half a day of one process.
                let lanes = ImportScene.newLanes
                for _ in 0..<4 {
                    guard let chunk = try await scene.lease().first else { break }
                    _ = try await scene.walk(chunk, lanes: lanes)
                    try await scene.makeDue()
                }
                try await scene.execute("UPDATE appstore.import_chunks SET silent_since = silent_since - interval '12 hours'")
                if try await scene.imports() == ["1 done 0 0 0 3 0 0"] { return }
            }
            Issue.record("the import does not end: \(try await scene.items())")
        }
    }

    @Test func `an answer ends the silence of a chunk, and so does a day in which it is not asked`() async throws {
        try await ImportScene.with { scene in
            func silences() async throws -> [String] {
                try await scene.lines("SELECT (silent_since IS NOT NULL)::text FROM appstore.import_chunks")
            }
            scene.apple.change { $0.customers = [.init(["20"])] }
            try await scene.load("transaction_id\n10\n20\n")
            var chunk = try #require(try await scene.lease().first)
            #expect(try await scene.store.renew(chunk) == false)
            try await scene.execute("UPDATE appstore.import_chunks SET silent_since = silent_since - interval '25 hours'")
            #expect(try await scene.store.renew(chunk) == true)
            for (ago, isSilent) in [("23 hours", "true"), ("25 hours", "false")] {
                try await scene.execute("UPDATE appstore.import_chunks SET run_at = clock_timestamp() - \(ago)::interval")
                chunk = try #require(try await scene.lease().first)
                #expect(try await silences() == [isSilent])
            }
            _ = try await scene.store.renew(chunk)
            scene.apple.change { $0.fault = { $0.id == "10" ? .failure(.timedOut) : nil } }
            _ = try await scene.walk(chunk)
            #expect(try await silences() == ["false"])
        }
    }

    @Test func `a request without an answer renews the lease, and is the last one where another has begun`() async throws {
        try await ImportScene.with { scene in
            scene.apple.change { $0.fault = { _ in .failure(.timedOut) } }
            try await scene.load("transaction_id\n10\n20\n")
            let old = try #require(try await scene.lease().first)
            try await scene.makeDue()
            _ = try await scene.store.renew(old)
            #expect(try await scene.lines("SELECT (run_at > now() + interval '1 minute')::text FROM appstore.import_chunks") == ["true"])
            try await scene.makeDue()
            _ = try await scene.lease()
            guard case .over = try await scene.walk(old) else {
                Issue.record("the walk is not over")
                return
            }
            #expect(scene.apple.asked == ["10"])
        }
    }

    @Test func `a lane that is silent rests longer and longer, until something is answered`() {
        let lane = ImportLane(app: .init("com.example.app", .production), depth: .statuses)
        let lanes = ImportLanes(perLane: 2, backoff: Backoff(base: .seconds(60), cap: .seconds(3600), jitter: 0))
        var now = ContinuousClock.now
        func isFree() -> Bool { !lanes.free(of: [lane], at: now).isEmpty }
        for id in ["1", "1", "2"] {
            #expect(!lanes.miss(id, in: lane))
        }
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(lanes.miss("3", in: lane))
            lanes.restSilently(lane, at: now)
            lanes.restSilently(lane, at: now)
            now += .seconds(60 * minutes - 1)
            #expect(!isFree())
            now += .seconds(1)
            #expect(isFree())
        }
        // Another request was in flight when this rest began.
        lanes.restSilently(lane, at: now)
        #expect(!isFree())
        lanes.hear(lane)
        #expect(isFree() && !lanes.isSilent(lane))
        lanes.rest(lane, until: now + .seconds(1))
        lanes.hear(lane)
        #expect(!isFree(), "an answer ends the rest after a limit")
    }

    @Test func `a rest is not shortened by a later one`() {
        let lane = ImportLane(app: .init("com.example.app", .production), depth: .history)
        let lanes = ImportLanes(perLane: 2, backoff: Backoff(base: .seconds(60), cap: .seconds(3600)))
        let now = ContinuousClock.now
        lanes.rest(lane, until: now + .seconds(3600))
        lanes.rest(lane, until: now + .seconds(5))
        #expect(lanes.free(of: [lane], at: now + .seconds(3599)).isEmpty)
        #expect(lanes.free(of: [ImportLane(app: lane.app, depth: .statuses)], at: now).count == 1)
    }
}
