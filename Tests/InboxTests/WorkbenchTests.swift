import Postgres
import Synchronization
import Testing

@testable import Inbox

struct WorkbenchTests {
    private let events = (Int64(1)...5).map { id in
        let time = PostgresTimestamp(microsecondsSince2000: 0)
        return ClaimedEvent(eventID: id, source: "any", receivedAt: time, claimedAt: time, attempts: 0, body: [])
    }

    private func words(_ stages: [Workbench<Int64>.Stage]) -> [String] {
        stages.map { stage in
            switch stage {
            case .waiting: "waiting"
            case .begun: "begun"
            case .prepared(let id): "\(id)"
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `an event that takes long keeps back nobody but itself, and what is late is not heard`() async {
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let workbench = Workbench(events) { event in
            if event.eventID == 2 { for await _ in released { break } }
            return event.eventID
        }
        let stages = await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 { group.addTask { await workbench.work() } }
            // Whoever has not met it has prepared the others.
            await group.next()
            let stages = workbench.close()
            release.finish()
            return stages
        }
        #expect(words(stages) == ["1", "begun", "3", "4", "5"])
    }

    @Test func `nobody begins with an event when the work has ended`() async {
        let begun = Mutex<[Int64]>([])
        let workbench = Workbench(events) { event in
            begun.withLock { $0.append(event.eventID) }
            return event.eventID
        }
        #expect(words(workbench.close()) == Array(repeating: "waiting", count: 5))
        await workbench.work()
        #expect(begun.withLock(\.self) == [])
    }
}
