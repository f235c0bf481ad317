import HTTPServingTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import Console

/// How Health takes connections, and what is said when an answer cannot be read.
struct HealthTests {
    @Test func `a report is made after the transaction of its request`() async throws {
        try await RunningConsole.run(connections: 1, healthAsks: true) { console in
            let page = try await console.page("/health", try await console.logIn(as: "appstore_viewer"))
            #expect(page.contains(">appstore_console<"), "\(page)")
        }
    }

    @Test func `requests that come meanwhile share a report`() async {
        let count = Mutex(0)
        let waiting = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let reports = HealthReports {
            let number = count.withLock { count in
                count += 1
                return count
            }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                waiting.withLock { $0 = continuation }
                begin.yield()
            }
            return [HealthFinding(group: "database", status: .good, subject: "server", found: "report \(number)", remedy: nil)]
        }
        async let first = reports.findings()
        for await _ in began { break }
        async let others = withTaskGroup(of: String.self, returning: Set<String>.self) { tasks in
            for _ in 1...5 { tasks.addTask { await reports.findings()[0].found } }
            var found: Set<String> = []
            for await text in tasks { found.insert(text) }
            return found
        }
        while reports.waiterCount < 5 { await Task.yield() }
        waiting.withLock { $0?.resume() }
        #expect(await first[0].found == "report 1")
        #expect(await others == ["report 1"])
        #expect(count.withLock { $0 } == 1)
    }

    @Test func `an answer that cannot be read is no outage, and is logged`() async throws {
        try await RunningConsole.run { console in
            try await console.execute(
                """
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
                VALUES (1, 'notification_v2', now(), now(), 1, 1, 'applied')
                """
            )
            try await console.execute(
                """
                INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
                VALUES (now(), 'x', 'requeue', '{1}', (repeat('[', 2000) || repeat(']', 2000))::jsonb)
                """
            )
            let answer = try await console.send("GET", "/events/1", cookie: try await console.logIn(as: "appstore_viewer"))
            #expect(answer.status == 500 && console.log.text.contains("cannot read what the database answered"), "\(answer.body)")
        }
    }
}
