import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import InboxQueue

/// Ageing beside the live path.
struct MaintenanceLiveTests {
    /// How long the live path took for one event, in milliseconds: until it was stored, and from then until it was settled.
    private struct Wait: Sendable {
        let stored: Double
        let settled: Double
    }

    /// `AGE_EVENTS`: how many age, on a cluster as in earnest and with `AGE_BYTES` in each body; a million take some minutes. They age without
    /// the pauses that a worker makes, in two sessions at once.
    @Test(.timeLimit(.minutes(30)))
    func `thousands of events age in every way there is, while fresh ones are stored and settled`() async throws {
        let byHand = MaintenanceBench.number("AGE_EVENTS")
        let count = byHand ?? 12_000
        let bytes = MaintenanceBench.number("AGE_BYTES") ?? 1
        let database = try await aged(count, bodyBytes: bytes, in: try await MaintenanceBench.cluster(byHand: byHand))
        let pool = try database.pool(user: "appstore_worker", connections: 3)
        let queue = EventQueue<ClaimedEvent>(
            pool: pool,
            configuration: .init(),
            logger: .silent,
            prepare: { $0 },
            merge: { events, _ in events.map { _ in .outcome(Outcome(.applied)) } }
        )
        let usual = try await live(through: queue, database, bodyBytes: bytes) { $0 < 100 }
        let start = ContinuousClock.now
        let ageing = Ageing()
        async let end: Void = age(database, ageing)
        let waits = try await live(through: queue, database, bodyBytes: bytes) { _ in !ageing.isOver }
        try await end
        print("\(count) events aged in \(ContinuousClock.now - start); \(Self.account(of: waits)); before: \(Self.account(of: usual))")

        // Nothing on the live path ever waits for ageing as long as it may for a poisoned event.
        for time in [\Wait.stored, \Wait.settled] {
            let (calm, longest) = (usual.map { $0[keyPath: time] }.max() ?? 0, waits.map { $0[keyPath: time] }.max() ?? 0)
            #expect(longest - calm < 1000, "\(time)")
        }

        // All that was there has gone, but for bodies of outcomes that are younger.
        let left = try await database.lines(
            """
            SELECT (SELECT count(*) FROM appstore.outcomes WHERE event_id < \(Self.fresh)) || ' outcomes, '
                || (SELECT count(*) FROM appstore.inbox WHERE event_id < \(Self.fresh)) || ' bodies'
            """
        )
        #expect(left == ["0 outcomes, 0 bodies"])
        let settled = try await database.lines("SELECT count(*)::text FROM appstore.outcomes WHERE result = 'applied'")
        #expect(settled == ["\(usual.count + waits.count)"])
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }

    /// Whether ageing has come to its end.
    private final class Ageing: Sendable {
        private let state = Mutex(false)

        var isOver: Bool { state.withLock { $0 } }

        func end() { state.withLock { $0 = true } }
    }

    /// Above all events that age.
    private static var fresh: Int { 900_000_000 }

    /// Events of partitions, of the net, and of rejected junk, all of them old enough for everything to go.
    private func aged(_ count: Int, bodyBytes: Int, in cluster: TestCluster) async throws -> TestDatabase {
        let database = try await InboxDatabase.make(in: cluster)
        let size = max(1000, count / 12)
        try await MaintenanceBench.execute(
            "UPDATE appstore.retention SET bodies = '30 days', outcomes = '60 days', partition_events = \(size)",
            in: database
        )
        for part in 0..<6 {
            // Every other part finds no partition.
            if part.isMultiple(of: 2) { _ = try await MaintenanceBench.finish(.preparePartitions, in: database) }
            try await MaintenanceBench.settled(count / 12, result: "applied", age: "90 days", bodyBytes: bodyBytes, in: database)
            try await MaintenanceBench.settled(
                count / 12,
                result: "rejected",
                labels: false,
                age: "90 days",
                bodyBytes: bodyBytes,
                in: database
            )
        }
        try await MaintenanceBench.execute("SELECT setval('appstore.inbox_event_id', \(Self.fresh))", in: database)
        _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
        return database
    }

    /// Ages in two sessions at once, and then in one: each of the two may have found the other in its way until it gave up.
    private func age(_ database: TestDatabase, _ ageing: Ageing) async throws {
        defer { ageing.end() }
        async let first: Void = age(database)
        async let second: Void = age(database)
        _ = try await (first, second)
        try await age(database)
    }

    /// Takes every step there is; one that finds others in its way is taken again.
    private func age(_ database: TestDatabase) async throws {
        try await database.withConnection(user: "appstore_worker") { connection in
            var idle = 0
            while idle < 3 {
                var hasDone = false
                for task in MaintenanceTask.allCases {
                    do {
                        while let step = try await task.step(on: connection) {
                            hasDone = true
                            if !step.hasMore { break }
                        }
                    } catch let error as PostgresError where error.isSerializationConflict {
                        hasDone = true
                    }
                }
                idle = hasDone ? 0 : idle + 1
            }
        }
    }

    /// Stores and settles one event after the other.
    private func live(
        through queue: EventQueue<ClaimedEvent>,
        _ database: TestDatabase,
        bodyBytes: Int,
        while goesOn: (Int) -> Bool
    ) async throws -> [Wait] {
        try await database.withConnection(user: "appstore_ingest") { connection in
            let body = [UInt8](repeating: 1, count: bodyBytes)
            var waits: [Wait] = []
            while goesOn(waits.count) {
                let start = ContinuousClock.now
                _ = try await connection.execute("SELECT appstore.receive(\([body]))")
                let stored = ContinuousClock.now
                // Once it would not be found: who looks at it at this moment holds it.
                while try await queue.takeBatch().events == 0 {}
                waits.append(Wait(stored: (stored - start) / .milliseconds(1), settled: (.now - stored) / .milliseconds(1)))
            }
            return waits
        }
    }

    private static func account(of waits: [Wait]) -> String {
        func longest(_ times: [Double]) -> String {
            let times = times.sorted()
            guard let last = times.last else { return "none" }
            return [times[times.count / 2], times[times.count * 99 / 100], last].map { "\(Int($0.rounded(.up)))" }.joined(separator: ", ")
        }
        return "\(waits.count) fresh ones were stored within \(longest(waits.map(\.stored))) ms (half, 99 %, all) and settled within "
            + "\(longest(waits.map(\.settled))) ms of that"
    }
}
